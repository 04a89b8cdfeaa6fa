export type ScheduleKind = 'linear' | 'cosine' | 'constant' | 'constant_with_warmup'

export interface Schedule {
  readonly kind: ScheduleKind
  /** The rate that the schedule scales. */
  readonly peak: number
  readonly warmupSteps: number
  /** Updates of the whole run, where linear and cosine reach zero. */
  readonly totalSteps: number
}

/**
 * The rate that the update after `committed` optimizer steps uses; the first update has `committed` 0.
 * Formulas of transformers' `get_scheduler` (optimization.py).
 */
export function learningRate(schedule: Schedule, committed: number): number {
  return schedule.peak * scheduleFactor(schedule, committed)
}

function scheduleFactor({ kind, warmupSteps, totalSteps }: Schedule, committed: number): number {
  if (kind === 'constant') return 1
  if (committed < warmupSteps) return committed / Math.max(1, warmupSteps)
  const left = Math.max(1, totalSteps - warmupSteps)
  switch (kind) {
    case 'linear':
      return Math.max(0, (totalSteps - committed) / left)
    case 'cosine':
      return Math.max(0, 0.5 * (1 + Math.cos((Math.PI * (committed - warmupSteps)) / left)))
    case 'constant_with_warmup':
      return 1
    default:
      return kind satisfies never
  }
}

/**
 * `warmup_steps` wins when it is above zero; below 1 it is a share of all updates, as `warmup_ratio` is, rounded up.
 * As TrainingArguments.get_warmup_steps.
 */
export function warmupSteps({ warmup_steps: steps, warmup_ratio }: { readonly warmup_steps: number; readonly warmup_ratio: number }, totalSteps: number): number {
  if (steps >= 1) return steps
  return Math.ceil(totalSteps * (steps > 0 ? steps : warmup_ratio))
}
