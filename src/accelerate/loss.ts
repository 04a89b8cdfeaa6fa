import { crossEntropyHead } from '../engine/ops/cross-entropy.ts'
import type { Tensor } from '../engine/tensor.ts'
import { countItems } from '../nn/targets.ts'
import type { Weight } from './weight.ts'

/** The loss of a micro-batch: a sum, never a mean, so that windows and ranks can be added up. */
export interface Loss {
  /** Where the backward starts. */
  readonly root: Tensor
  /** f32 [1] */
  readonly sum: Tensor
  /** How many targets it is the sum of. */
  readonly items: number
}

/**
 * Logits = hidden W^T, softmax cross-entropy summed over the targets, in nats. hidden: [R, C], weight: [V, C],
 * targets: [R], -100 where nothing is predicted; they are taken as they are, not shifted.
 */
export function crossEntropy(hidden: Tensor, weight: Weight, targets: Int32Array<ArrayBuffer>): Loss {
  const { engine } = hidden
  const vocabulary = weight.shape[0] ?? 0
  const bad = targets.findIndex((target) => target >= vocabulary || (target < 0 && target !== -100))
  if (bad >= 0) throw new Error(`Cannot score target ${targets[bad]} of row ${bad}: need -100 or a number below ${vocabulary}`)
  const sum = engine.upload(new Float32Array(1), [1])
  const root = crossEntropyHead(hidden, weight.tensor, engine.upload(targets, [targets.length]), sum)
  return { root, sum, items: countItems(targets) }
}
