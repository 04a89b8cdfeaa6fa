import type { MicroBatchPlan } from '../protocol/update-plan.ts'
import type { Trainee } from './update.ts'
import { uploadMicroBatch } from './upload-micro-batch.ts'

export interface Evaluation {
  /** Sum of the target losses, in nats. */
  readonly lossSum: number
  readonly items: number
}

/** Losses of the given samples under the current parameters, which it leaves alone. Aborts between micro-batches. */
export async function evaluate(trainee: Trainee, microBatches: readonly MicroBatchPlan[], signal?: AbortSignal): Promise<Evaluation> {
  const { engine, losses } = trainee
  losses.clear()
  let items = 0
  let previous: Promise<void> = Promise.resolve()
  for (const [index, samples] of microBatches.entries()) {
    signal?.throwIfAborted()
    items += engine.tape.withoutGradients(() => enqueueLosses(trainee, samples, index))
    await previous
    previous = engine.idle()
    previous.catch(() => {}) // awaited in the next round, or told by the read below
  }
  return { lossSum: await losses.read(), items }
}

function enqueueLosses({ engine, model, losses, source, shape }: Trainee, samples: MicroBatchPlan, index: number): number {
  using _scope = engine.scope()
  const { tokens, targets, items } = uploadMicroBatch(model, source(samples), shape)
  model.loss(tokens, targets, losses.of(index))
  return items
}
