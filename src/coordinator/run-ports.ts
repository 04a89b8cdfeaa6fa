import type { CorpusFacts, InitialState, Member, ToRank } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import type { PlannerInput } from './planner.ts'

export interface RunRank {
  readonly peer: string
  readonly name: string
  send(message: ToRank): void
  /** Sends the training tokens after `prepare`, then the state that the run starts from. */
  sendCorpus(): Promise<void>
}

/** A rank in the run's eyes. */
export interface RunEntry {
  readonly rank: RunRank
  prepared: boolean
  /** What it said when it had linked up. */
  formed: { update: number; hash: string } | null
}

/** `every`: committed updates, or for epochs their windows. */
export interface SaveSettings {
  readonly strategy: 'no' | 'steps' | 'epoch'
  readonly every: number
}

export interface RunSettings {
  readonly id: string
  readonly options: Record<string, unknown>
  readonly config: Record<string, unknown>
  readonly corpus: CorpusFacts
  readonly initial: InitialState
  readonly planner: PlannerInput
  /** Windows in the whole run. */
  readonly totalUpdates: number
  /** Whether there is an evaluation before the first update too. */
  readonly evaluatesFirst: boolean
  /** Updates between evaluations; 0 for none. */
  readonly evalEvery: number
  /** Validation samples to evaluate on, as indices behind the training samples. */
  readonly evalSamples: readonly number[]
  /** Whether nothing is planned past an evaluation before it is known: it may end the run, always at the same update. */
  readonly waitsForEvaluations: boolean
  readonly sampleEvery: number
  readonly save: SaveSettings
  readonly generate: { readonly prompt: readonly number[]; readonly tokens: number; readonly temperature: number; readonly topK: number; readonly topP: number }
}

/** What was planned for a window that is done. */
export interface PlannedWindow {
  readonly epoch: number
  readonly ranks: number
  readonly samples: number
  /** Without padding. */
  readonly tokens: number
}

export interface RunListener {
  /** A window is done (once per window, unless a later `rewound` takes it back). */
  finished(report: UpdateReport, plan: PlannedWindow): void
  /** Ranks agreed on a state before `update`: records from there on are void. */
  rewound(update: number): void
  rankReport(peer: string, report: UpdateReport, microBatches: number): void
  generation(members: readonly Member[], reason: string): void
  evaluated(update: number, lossSum: number, items: number): void
  generated(update: number, ids: readonly number[]): void
  /** A rank has taken its state after `window` windows, `committed` of them stepped; its bytes follow. */
  checkpointed(peer: string, window: number, committed: number): void
  event(level: 'info' | 'warning' | 'error', text: string): void
  /** All windows are done or the run was stopped; ranks keep their state. */
  done(): void
  failed(cause: string): void
}
