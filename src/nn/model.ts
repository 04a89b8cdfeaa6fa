import type { Engine } from '../engine/engine.ts'
import type { TokenBatch } from '../engine/ops/embedding.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import type { Tensor } from '../engine/tensor.ts'

/** A model that predicts the next token; it knows neither batches' origin nor other ranks. */
export interface CausalModel {
  readonly engine: Engine
  readonly parameters: FlatParameters
  readonly vocabSize: number
  /** Columns of the hidden state. */
  readonly width: number
  /** Longest sequence. */
  readonly positions: number
  /** Hidden state after the last norm: [B * T, width]. */
  forward(tokens: TokenBatch): Tensor
  /**
   * Adds the summed cross-entropy to `lossSum` (f32 [1]) and returns the root for `tape.backward`.
   * `targets`: i32 [B * T], already shifted (see `shiftLabels`), -100 where nothing is predicted.
   */
  loss(tokens: TokenBatch, targets: Tensor, lossSum: Tensor): Tensor
  /** hidden: [R, width] -> logits [R, vocab]. */
  logits(hidden: Tensor): Tensor
}
