import type { EvaluationRecord, StepRecord, TextSample } from '../protocol/step-record.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import type { PlannedWindow } from './run-ports.ts'

export interface PastRun {
  readonly records: readonly StepRecord[]
  readonly evaluations: readonly EvaluationRecord[]
}

/** Everything a run said so far: one record per window, the evaluations, the generated texts. */
export class RunHistory {
  records: readonly StepRecord[]
  evaluations: readonly EvaluationRecord[]
  samples: readonly TextSample[] = []
  readonly #startedMs: number
  readonly #now: () => number
  #windows: number[]

  /** `before` is what a checkpoint remembers. */
  constructor(now: () => number, before: PastRun | null = null) {
    this.#now = now
    this.records = before?.records ?? []
    this.evaluations = before?.evaluations ?? []
    this.#windows = this.records.map((_, window) => window)
    this.#startedMs = now() - (this.records.at(-1)?.elapsed_ms ?? 0)
  }

  get elapsedMs(): number {
    return this.#now() - this.#startedMs
  }

  add(report: UpdateReport, { epoch, ranks, samples, tokens }: PlannedWindow): StepRecord {
    const elapsed = this.elapsedMs
    const sinceLastMs = Math.max(1, elapsed - (this.records.at(-1)?.elapsed_ms ?? 0))
    const record: StepRecord = {
      step: report.committed,
      loss: report.lossSum / report.numItems,
      grad_norm: report.gradNorm,
      learning_rate: report.learningRate,
      epoch,
      num_items: report.numItems,
      num_samples: samples,
      num_tokens: tokens,
      outcome: report.outcome,
      ranks,
      tokens_per_second: (tokens * 1000) / sinceLastMs,
      elapsed_ms: elapsed,
      ...(report.stateHash ? { state_hash: report.stateHash } : {}),
    }
    this.records = [...this.records, record]
    this.#windows.push(report.update)
    return record
  }

  /** Takes back the records of windows from `update` on: a generation ended before all ranks had them. */
  rewind(update: number): boolean {
    const keep = this.#windows.findIndex((window) => window >= update)
    if (keep < 0) return false
    this.records = this.records.slice(0, keep)
    this.#windows = this.#windows.slice(0, keep)
    return true
  }

  /** All up to the end of window `done - 1`; null when that is not over. */
  upTo(done: number): PastRun | null {
    const at = this.#windows.indexOf(done - 1)
    const step = this.records[at]?.step
    if (step === undefined) return null
    return { records: this.records.slice(0, at + 1), evaluations: this.evaluations.filter((evaluation) => evaluation.step <= step) }
  }

  evaluate(window: number, lossSum: number, items: number): EvaluationRecord {
    const at = this.#recordOf(window)
    const record = { step: at?.step ?? window, epoch: at?.epoch ?? 0, eval_loss: lossSum / items, eval_items: items, eval_runtime: (this.elapsedMs - (at?.elapsed_ms ?? 0)) / 1000 }
    this.evaluations = [...this.evaluations, record]
    return record
  }

  sample(window: number, prompt: string, text: string): TextSample {
    const sample = { step: this.#recordOf(window)?.step ?? window, prompt, text }
    this.samples = [...this.samples, sample]
    return sample
  }

  #recordOf(window: number): StepRecord | undefined {
    return this.records[this.#windows.indexOf(window - 1)]
  }
}
