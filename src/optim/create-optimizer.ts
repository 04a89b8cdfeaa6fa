import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { AdamW } from './adamw.ts'
import type { Optimizer } from './optimizer.ts'
import { Sgd } from './sgd.ts'

/** By the names of TrainingArguments; `momentum` is of sgd. */
export interface OptimizerOptions {
  readonly optim: 'adamw_torch' | 'sgd'
  readonly adam_beta1: number
  readonly adam_beta2: number
  readonly adam_epsilon: number
  readonly weight_decay: number
  readonly momentum: number
}

export function createOptimizer(engine: Engine, parameters: FlatParameters, options: OptimizerOptions): Optimizer {
  const { optim, adam_beta1: beta1, adam_beta2: beta2, adam_epsilon: epsilon, weight_decay: weightDecay, momentum } = options
  switch (optim) {
    case 'adamw_torch':
      return new AdamW(engine, parameters, { beta1, beta2, epsilon, weightDecay })
    case 'sgd':
      return new Sgd(engine, parameters, { momentum, weightDecay })
    default:
      return optim satisfies never
  }
}
