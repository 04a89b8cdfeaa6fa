import type { EvaluationRecord } from '../protocol/step-record.ts'

export interface Patience {
  /** Evaluations in a row without a gain. */
  readonly patience: number
  /** A loss counts as lower when it is lower by more than this. */
  readonly threshold: number
}

/** Whether the last evaluations brought no gain, as the Trainer's EarlyStoppingCallback: against the best one before each. */
export function isPatienceOver(evaluations: readonly Pick<EvaluationRecord, 'eval_loss'>[], { patience, threshold }: Patience): boolean {
  let best = Number.POSITIVE_INFINITY
  let without = 0
  for (const { eval_loss } of evaluations) {
    without = best - eval_loss > threshold ? 0 : without + 1
    best = Math.min(best, eval_loss)
  }
  return without >= patience
}
