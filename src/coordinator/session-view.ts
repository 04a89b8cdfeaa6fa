import type { ReadonlySignal } from '@preact/signals'
import type { TrainingOptions } from '../protocol/options.ts'
import type { SessionPhaseName } from '../protocol/session-phase.ts'
import type { KeptCheckpoint } from './browser-checkpoints.ts'
import type { ExportOptions } from './export-model.ts'
import type { EvaluationRecord, StepRecord, TextSample } from '../protocol/step-record.ts'

/** What the coordinator page shows and does; the page holds no state of its own beyond form fields. */
export type SessionPhase = SessionPhaseName

export type RankState = 'connecting' | 'checking' | 'ready' | 'receiving data' | 'linking' | 'training' | 'waiting' | 'paused' | 'left' | 'refused' | 'failed'

export interface RankRow {
  readonly peer: string
  readonly name: string
  readonly browser: string
  readonly adapter: string
  readonly state: RankState
  /** A sentence: why refused, why slow, what it is receiving. */
  readonly note: string
  /** 0 to 1 while something with a known size is under way, else null. */
  readonly progress: number | null
  readonly microBatches: number
  readonly tokensPerSecond: number
  /** Shares of the last updates' time, adding to 1. */
  readonly shares: { readonly computing: number; readonly waiting: number; readonly sending: number } | null
  readonly hidden: boolean
  /** The rank that lives in this page. */
  readonly own: boolean
}

export interface RoomEvent {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly level: 'info' | 'warning' | 'error'
  readonly text: string
}

export interface TextSource {
  readonly name: string
  readonly amount: number
  readonly unit: 'characters' | 'rows'
}

export interface KeptView {
  /** The newest first. */
  readonly list: ReadonlySignal<readonly KeptCheckpoint[]>
  remove(checkpoint: KeptCheckpoint): Promise<void>
  /** Its folder as one zip. */
  download(checkpoint: KeptCheckpoint): Promise<{ readonly name: string; readonly blob: Blob }>
}

export interface SessionView {
  readonly phase: ReadonlySignal<SessionPhase>
  /** One sentence: what is happening, or what failed and what to do. */
  readonly status: ReadonlySignal<string>
  /** Whether Start may be pressed; `status` says why not. */
  readonly canStart: ReadonlySignal<boolean>
  readonly options: ReadonlySignal<TrainingOptions>
  readonly source: ReadonlySignal<TextSource | null>
  /** Null where part of the data is held out. */
  readonly validationSource: ReadonlySignal<TextSource | null>
  readonly vocabSize: ReadonlySignal<number | null>
  readonly parameters: ReadonlySignal<number | null>
  readonly ranks: ReadonlySignal<readonly RankRow[]>
  readonly records: ReadonlySignal<readonly StepRecord[]>
  readonly evaluations: ReadonlySignal<readonly EvaluationRecord[]>
  readonly samples: ReadonlySignal<readonly TextSample[]>
  readonly events: ReadonlySignal<readonly RoomEvent[]>
  readonly maxSteps: ReadonlySignal<number>
  readonly inviteUrl: ReadonlySignal<string>
  readonly computeHere: ReadonlySignal<boolean>
  /** Checkpoints in this browser. */
  readonly kept: KeptView
  /** The one that the next run goes on from. */
  readonly resumesFrom: ReadonlySignal<KeptCheckpoint | null>
  /** Takes the checkpoint's options over. @throws a sentence when it does not read. */
  resumeFrom(checkpoint: KeptCheckpoint): Promise<void>
  /** From random weights after all, with the options as they stand. */
  startAnew(): void
  setOption(name: string, value: unknown): void
  /** Why the text that was chosen last, or the book, could not be taken; empty when it could. The previous text stays. */
  readonly sourceProblem: ReadonlySignal<string>
  /** A file of its own to evaluate on; null to hold out part of the data again. */
  useValidationFile(file: File | null): Promise<void>
  /** Refuses an empty, binary or too short file, and rows that do not read. */
  useFile(file: File): Promise<void>
  useBook(): Promise<void>
  setComputeHere(on: boolean): void
  start(): Promise<void>
  pause(): void
  resume(): void
  stop(): void
  /** A Hugging Face folder, or PEFT's, as one zip. Works while training and after. */
  save(options: ExportOptions): Promise<{ readonly name: string; readonly blob: Blob }>
}
