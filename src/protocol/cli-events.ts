import type { LogEntry } from './trainer-log.ts'
import type { SessionPhaseName } from './session-phase.ts'
import type { EvaluationRecord, StepRecord, TextSample } from './step-record.ts'

/** What the coordinator page tells the command line that opened it, through `window.tabringReport`. */
export type CliEvent =
  | { readonly type: 'invite'; readonly url: string }
  | { readonly type: 'status'; readonly phase: SessionPhaseName; readonly status: string }
  | { readonly type: 'started'; readonly maxSteps: number; readonly parameters: number; readonly vocabSize: number; readonly ranks: number }
  | { readonly type: 'record'; readonly record: StepRecord }
  | { readonly type: 'log'; readonly entry: LogEntry }
  | { readonly type: 'evaluation'; readonly evaluation: EvaluationRecord }
  | { readonly type: 'sample'; readonly sample: TextSample }
  | { readonly type: 'event'; readonly level: 'info' | 'warning' | 'error'; readonly text: string }
