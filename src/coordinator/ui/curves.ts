import type { EvaluationRecord, StepRecord } from '../../protocol/step-record.ts'

/** Weight of the newest loss in the smoothed curve. */
const SMOOTHING = 0.1

/** Columns of a chart: x, then one for each line; null leaves a gap. */
export type Columns = readonly (readonly (number | null)[])[]

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

/** Update, loss, smoothed loss, validation loss, ln(vocabulary): what a model loses that guesses blindly. */
export function lossColumns(records: readonly StepRecord[], evaluations: readonly EvaluationRecord[], vocabSize: number | null): Columns {
  const losses = new Map(committed(records).map(({ step, loss }) => [step, loss]))
  const measured = new Map(evaluations.map(({ step, eval_loss }) => [step, eval_loss]))
  // An evaluation may stand where no record does: before the first update.
  const steps = [...new Set([...losses.keys(), ...measured.keys()])].sort((a, b) => a - b)
  const raw = steps.map((step) => losses.get(step) ?? Number.NaN)
  const blind = vocabSize === null ? null : Math.log(vocabSize)
  return [steps, raw.map(finite), smooth(raw), steps.map((step) => finite(measured.get(step) ?? Number.NaN)), steps.map(() => blind)]
}

/** Update and one value of each record. */
export function columns(records: readonly StepRecord[], of: (record: StepRecord) => number): Columns {
  const drawn = committed(records)
  return [drawn.map(({ step }) => step), drawn.map((record) => finite(of(record)))]
}

/** One sentence that says what a line shows, for those who do not see it. */
export function describeCurve(label: string, steps: readonly (number | null)[], values: readonly (number | null)[], format: (value: number) => string): string {
  const seen = values.filter((value) => value !== null)
  const [first] = seen
  const last = seen.at(-1)
  if (first === undefined || last === undefined) return `${label}: nothing yet`
  const lowest = seen.reduce((least, value) => Math.min(least, value), first)
  const highest = seen.reduce((most, value) => Math.max(most, value), first)
  return `${label} over ${steps.at(-1)} updates: from ${format(first)} to ${format(last)}, lowest ${format(lowest)}, highest ${format(highest)}`
}

/** A skipped update has the number of the one before it, and no loss to draw. */
function committed(records: readonly StepRecord[]): readonly StepRecord[] {
  return records.filter(({ outcome }) => outcome === 'committed')
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
