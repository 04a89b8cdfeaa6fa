import type { Engine } from '../../engine/engine.ts'
import type { CausalModel } from '../../nn/model.ts'
import { AdamW, type AdamWOptions } from '../../optim/adamw.ts'
import { GradNorm } from '../../optim/grad-norm.ts'
import { GradientSync } from '../../parallel/ddp.ts'
import type { BatchShape, BatchSource } from '../batch-source.ts'
import { LossSlots } from '../loss-slots.ts'
import type { Trainee } from '../update.ts'

export const GOLDEN_ADAMW: AdamWOptions = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 }

/** Test-only: everything that an update needs around a model, with buckets small enough that even a tiny model has several. */
export function traineeOf(model: CausalModel, shape: BatchShape, source: BatchSource, options: Partial<AdamWOptions> = {}): Trainee & { readonly engine: Engine } {
  const { engine, parameters } = model
  return {
    engine,
    model,
    optimizer: new AdamW(engine, parameters, { ...GOLDEN_ADAMW, ...options }),
    norm: new GradNorm(engine, parameters),
    losses: new LossSlots(engine),
    sync: new GradientSync(engine, parameters, { capBytes: 16_384, firstCapBytes: 4096 }),
    source,
    shape,
    maxGradNorm: 1,
  }
}
