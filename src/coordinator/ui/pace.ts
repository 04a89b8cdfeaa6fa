import type { StepRecord } from '../../protocol/step-record.ts'

/** Updates whose pace foretells the rest: short enough to follow a rank that joins or leaves. */
const PACE_UPDATES = 20

/** Seconds until update `total` at the pace of the last updates; not a number before there is a pace. */
export function secondsLeft(records: readonly StepRecord[], total: number): number {
  const last = records.at(-1)
  const before = records.at(-1 - Math.min(PACE_UPDATES, records.length - 1))
  if (!last || !before) return Number.NaN
  const span = records.length > 1 ? last.elapsed_ms - before.elapsed_ms : last.elapsed_ms
  const updates = records.length > 1 ? Math.min(PACE_UPDATES, records.length - 1) : 1
  return (Math.max(0, total - records.length) * span) / updates / 1000
}

/** How many equally likely tokens a model of this loss hesitates between: its perplexity, for people. */
export function guesses(loss: number): string {
  const perplexity = Math.exp(loss)
  if (perplexity < 9.95) return Number(perplexity.toFixed(1)).toString()
  return perplexity < 1e6 ? Math.round(perplexity).toLocaleString('en') : 'very many'
}
