import { type TokenBatch, uploadTokens } from '../engine/ops/embedding.ts'
import type { Tensor } from '../engine/tensor.ts'
import type { CausalModel } from '../nn/model.ts'
import { countItems, shiftLabels } from '../nn/targets.ts'
import type { BatchShape, MicroBatch } from './batch-source.ts'

/** What a model's loss takes, and how many targets it sums. */
export interface UploadedMicroBatch {
  readonly tokens: TokenBatch
  readonly targets: Tensor
  readonly items: number
}

export function uploadMicroBatch({ engine, vocabSize }: CausalModel, { ids, labels, starts, dropoutKeys = null }: MicroBatch, { batch, length }: BatchShape): UploadedMicroBatch {
  const targets = shiftLabels(labels, { batch, length, starts })
  const tokens = uploadTokens(engine, ids, { batch, length, vocabSize, starts, dropoutKeys })
  return { tokens, targets: engine.upload(targets, [targets.length]), items: countItems(targets) }
}
