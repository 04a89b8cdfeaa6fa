import { formatGeneral } from './format-general.ts'
import type { TrainingOptions } from './options.ts'
import type { EvaluationRecord, StepRecord } from './step-record.ts'

/** One entry of trainer_state.json's log_history, and one printed line; `step` is in the history only. */
export type LogEntry = Readonly<Record<string, number>> & { readonly epoch: number; readonly step: number }

export type LoggingOptions = Pick<TrainingOptions, 'logging_steps' | 'logging_first_step'>

/** The Trainer's line: a Python dict whose values are strings of four digits. */
export function formatLogLine(entry: LogEntry): string {
  const pairs = Object.entries(entry).filter(([key]) => key !== 'step')
  return `{${pairs.map(([key, value]) => `'${key}': '${formatGeneral(value)}'`).join(', ')}}`
}

/**
 * Turns the records of updates, in order, into the Trainer's log entries: the mean loss of the updates since the last entry, and
 * gradient norm and learning rate of the last one. Updates that were skipped have no loss; they are counted.
 */
export class TrainerLog {
  readonly #options: LoggingOptions
  #lossSum = 0
  #updates = 0
  #skipped = 0

  constructor(options: LoggingOptions) {
    this.#options = options
  }

  /** @returns the entry that is due after this update, or null. */
  add(record: StepRecord): LogEntry | null {
    if (record.outcome !== 'committed') {
      this.#skipped++
      return null
    }
    this.#lossSum += record.loss
    this.#updates++
    const { logging_steps, logging_first_step } = this.#options
    if (record.step % logging_steps !== 0 && !(logging_first_step && record.step === 1)) return null
    const skipped = this.#skipped > 0 ? { skipped_updates: this.#skipped } : {}
    const entry = {
      loss: this.#lossSum / this.#updates,
      grad_norm: record.grad_norm,
      learning_rate: record.learning_rate,
      ...skipped,
      epoch: record.epoch,
      step: record.step,
    }
    this.#lossSum = 0
    this.#updates = 0
    this.#skipped = 0
    return entry
  }
}

export function evaluationEntry({ eval_loss, eval_runtime, epoch, step }: EvaluationRecord): LogEntry {
  return { eval_loss, eval_perplexity: Math.exp(eval_loss), eval_runtime: rounded(eval_runtime, 4), epoch, step }
}

/** The Trainer's last line. */
export function summaryEntry(records: readonly StepRecord[]): LogEntry {
  const committed = records.filter(({ outcome }) => outcome === 'committed')
  const seconds = (records.at(-1)?.elapsed_ms ?? 0) / 1000
  const samples = committed.reduce((sum, record) => sum + record.num_samples, 0)
  const perSecond = (count: number): number => (seconds > 0 ? rounded(count / seconds, 3) : 0)
  return {
    train_runtime: rounded(seconds, 4),
    train_samples_per_second: perSecond(samples),
    train_steps_per_second: perSecond(committed.length),
    train_loss: committed.length > 0 ? committed.reduce((sum, record) => sum + record.loss, 0) / committed.length : 0,
    epoch: records.at(-1)?.epoch ?? 0,
    step: committed.at(-1)?.step ?? 0,
  }
}

/** All entries of a run in the order of their steps; an evaluation follows the update that it came after. */
export function logHistory(records: readonly StepRecord[], evaluations: readonly EvaluationRecord[], options: LoggingOptions): LogEntry[] {
  const log = new TrainerLog(options)
  const entries: LogEntry[] = []
  for (const record of records) {
    const entry = log.add(record)
    if (entry) entries.push(entry)
  }
  entries.push(...evaluations.map(evaluationEntry))
  return entries.sort((a, b) => a.step - b.step) // stable: updates stay before evaluations
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
