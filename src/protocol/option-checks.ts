import type { OptionName, TrainingOptions } from './option-schema.ts'

export interface OptionConflict {
  readonly name: OptionName
  /** Completes "need …". */
  readonly need: string
}

/** What no single option shows: values that do not go together. @returns the first conflict, or null. */
export function findConflict(options: TrainingOptions): OptionConflict | null {
  const { n_embd, n_head, eval_strategy, max_steps, warmup_steps, lr_scheduler_type } = options
  if (n_embd % n_head !== 0) return { name: 'n_embd', need: `a multiple of n_head, which is ${n_head}` }
  if (options.eval_steps !== null && eval_strategy !== 'steps') {
    return { name: 'eval_steps', need: `eval_strategy to be steps, which is ${eval_strategy}` }
  }
  if (max_steps > 0 && warmup_steps > max_steps) return { name: 'warmup_steps', need: `at most max_steps, which is ${max_steps}` }
  if (lr_scheduler_type === 'constant' && (warmup_steps > 0 || options.warmup_ratio > 0)) {
    return { name: 'lr_scheduler_type', need: 'constant_with_warmup, because a constant rate has no warm-up' }
  }
  if (options.micro_batch_shares !== '' && parseShares(options.micro_batch_shares) === null) {
    return { name: 'micro_batch_shares', need: 'numbers from 0 with commas between them, at least one above 0, such as 4,3,1' }
  }
  return null
}

/** The shares that `micro_batch_shares` names: empty for even ones, null when it does not read. */
export function parseShares(text: string): number[] | null {
  if (text.trim() === '') return []
  const shares = text.split(',').map((share) => (share.trim() === '' ? Number.NaN : Number(share)))
  const fits = shares.every((share) => Number.isFinite(share) && share >= 0) && shares.some((share) => share > 0)
  return fits ? shares : null
}
