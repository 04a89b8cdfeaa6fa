import type { Training } from '../nn/parameter-plan.ts'
import { parseNames } from '../protocol/option-checks.ts'
import type { TrainingOptions } from '../protocol/options.ts'

/** Which parameters a run's options train. */
export function trainingOf(options: TrainingOptions): Training {
  const { lora_r: rank, lora_alpha: alpha, lora_dropout: dropout, use_rslora: rankStabilised, lora_target_modules: targets } = options
  const names = parseNames(targets)
  const lora = options.use_peft ? { rank, alpha, dropout, rankStabilised, targets: names.includes('all-linear') ? ('all-linear' as const) : names } : null
  return { freeze: parseNames(options.freeze), lora }
}
