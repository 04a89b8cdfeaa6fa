import type { OptionName, TrainingOptions } from './option-schema.ts'

export interface OptionConflict {
  readonly name: OptionName
  /** Completes "need …". */
  readonly need: string
}

/** What no single option shows: values that do not go together. @returns the first conflict, or null. */
export function findConflict(options: TrainingOptions): OptionConflict | null {
  const { eval_strategy, max_steps, warmup_steps, lr_scheduler_type } = options
  const shape = findShapeConflict(options)
  if (shape) return shape
  if (options.eval_steps !== null && eval_strategy !== 'steps') {
    return { name: 'eval_steps', need: `eval_strategy to be steps, which is ${eval_strategy}` }
  }
  if (warmup_steps > 1 && !Number.isInteger(warmup_steps)) return { name: 'warmup_steps', need: 'a whole number, or a share below 1' }
  if (max_steps > 0 && warmup_steps > max_steps) return { name: 'warmup_steps', need: `at most max_steps, which is ${max_steps}` }
  if (lr_scheduler_type === 'constant' && (warmup_steps > 0 || options.warmup_ratio > 0)) {
    return { name: 'lr_scheduler_type', need: 'constant_with_warmup, because a constant rate has no warm-up' }
  }
  if (options.early_stopping_patience !== null && eval_strategy === 'no') return { name: 'early_stopping_patience', need: 'nothing, because eval_strategy is no' }
  if (options.momentum > 0 && options.optim !== 'sgd') return { name: 'momentum', need: `0, because optim is ${options.optim}, whose mean of gradients is adam_beta1` }
  const adapter = findAdapterConflict(options)
  if (adapter) return adapter
  if (options.micro_batch_shares !== '' && parseShares(options.micro_batch_shares) === null) {
    return { name: 'micro_batch_shares', need: 'numbers from 0 with commas between them, at least one above 0, such as 4,3,1' }
  }
  return null
}

/** What only an adapter has. */
const ADAPTER_DEFAULTS = { lora_r: 16, lora_alpha: 32, lora_dropout: 0.05, use_rslora: false, lora_target_modules: '' } as const satisfies Partial<TrainingOptions>

function findAdapterConflict(options: TrainingOptions): OptionConflict | null {
  if (options.use_peft) return null
  for (const [name, value] of Object.entries(ADAPTER_DEFAULTS)) {
    if (isAdapterOption(name) && options[name] !== value) return { name, need: 'nothing, because use_peft is false: without it no adapter is trained' }
  }
  return null
}

function isAdapterOption(name: string): name is keyof typeof ADAPTER_DEFAULTS {
  return Object.hasOwn(ADAPTER_DEFAULTS, name)
}

/** Names with commas between them. */
export function parseNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Sizes that the heads of the family do not allow. */
function findShapeConflict({ model_type, n_embd, n_head, num_key_value_heads: keyHeads }: TrainingOptions): OptionConflict | null {
  if (n_embd % n_head !== 0) return { name: 'n_embd', need: `a multiple of n_head, which is ${n_head}` }
  const step = ROTARY_STEPS[model_type]
  if ((n_embd / n_head) % step !== 0) return { name: 'n_embd', need: `a multiple of ${step} x n_head, which is ${step * n_head}, because ${model_type} rotates pairs of each head` }
  if (keyHeads === null || keyHeads === n_head) return null
  if (model_type === 'gpt2' || model_type === 'gpt_neox') return { name: 'num_key_value_heads', need: `nothing, because ${model_type} has a key and a value for each of its heads` }
  return n_head % keyHeads === 0 ? null : { name: 'num_key_value_heads', need: `a divisor of n_head, which is ${n_head}` }
}

/** What the size of a head is a multiple of: pairs of it are rotated, or pairs of a quarter. */
const ROTARY_STEPS: Readonly<Record<TrainingOptions['model_type'], number>> = { gpt2: 1, llama: 2, qwen3: 2, gpt_neox: 8, stablelm: 8 }

/** Whether the MLP multiplies its hidden layer by another. */
export function isGated({ model_type }: Pick<TrainingOptions, 'model_type'>): boolean {
  return model_type === 'llama' || model_type === 'qwen3' || model_type === 'stablelm'
}

/** Without n_inner, the MLP has about as many weights whether it is gated or not. */
export function innerWidth(options: Pick<TrainingOptions, 'model_type' | 'n_embd' | 'n_inner'>): number {
  const { n_embd, n_inner } = options
  return n_inner ?? (isGated(options) ? 8 * Math.ceil(n_embd / 3) : 4 * n_embd)
}

/** The shares that `micro_batch_shares` names: empty for even ones, null when it does not read. */
export function parseShares(text: string): number[] | null {
  if (text.trim() === '') return []
  const shares = text.split(',').map((share) => (share.trim() === '' ? Number.NaN : Number(share)))
  const fits = shares.every((share) => Number.isFinite(share) && share >= 0) && shares.some((share) => share > 0)
  return fits ? shares : null
}
