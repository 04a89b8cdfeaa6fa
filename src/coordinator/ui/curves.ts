import type { EvaluationRecord, StepRecord } from '../../protocol/step-record.ts'

/** Weight of the newest loss in the smoothed curve. */
const SMOOTHING = 0.1

/** Exponential moving average without the bias of its start; gaps stay gaps. */
export function smooth(values: readonly number[]): (number | null)[] {
  let sum = 0
  let weight = 0
  return values.map((value) => {
    if (!Number.isFinite(value)) return null
    sum = sum * (1 - SMOOTHING) + value * SMOOTHING
    weight = weight * (1 - SMOOTHING) + SMOOTHING
    return sum / weight
  })
}

/** Columns of the loss chart: update, loss, smoothed loss, validation loss, ln(vocabulary) (a model that guesses blindly). */
export function lossColumns(records: readonly StepRecord[], evaluations: readonly EvaluationRecord[], vocabSize: number | null): (number | null)[][] {
  const byStep = new Map(evaluations.map(({ step, eval_loss }) => [step, eval_loss]))
  const steps = records.map(({ step }) => step)
  const blind = vocabSize === null ? null : Math.log(vocabSize)
  return [steps, records.map(({ loss }) => finite(loss)), smooth(records.map(({ loss }) => loss)), steps.map((step) => byStep.get(step) ?? null), steps.map(() => blind)]
}

export function columns(records: readonly StepRecord[], of: (record: StepRecord) => number): (number | null)[][] {
  return [records.map(({ step }) => step), records.map((record) => finite(of(record)))]
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
