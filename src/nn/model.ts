import type { Engine } from '../engine/engine.ts'
import { crossEntropyHead, headLogits, type LossOptions } from '../engine/ops/cross-entropy.ts'
import type { TokenBatch } from '../engine/ops/embedding.ts'
import type { FlatParameters, FrozenParameters } from '../engine/parameters.ts'
import type { Tensor } from '../engine/tensor.ts'
import type { ModelParameters } from './model-parameters.ts'

/** A model that predicts the next token; it knows neither batches' origin nor other ranks. */
export interface CausalModel {
  readonly engine: Engine
  /** Those that train. */
  readonly parameters: FlatParameters
  /** Null when all of them train. */
  readonly frozen: FrozenParameters | null
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
  loss(tokens: TokenBatch, targets: Tensor, lossSum: Tensor, options?: LossOptions): Tensor
  /** hidden: [R, width] -> logits [R, vocab]. */
  logits(hidden: Tensor): Tensor
}

interface ModelParts {
  readonly parameters: ModelParameters
  readonly config: Pick<CausalModel, 'vocabSize' | 'width' | 'positions'>
  /** Hidden state after the last norm: [B * T, width]. */
  body(tokens: TokenBatch): Tensor
  /** [vocab, width], tied or not. */
  readonly head: Tensor
}

/** A body under a head. Sequences longer than the config's positions are refused. */
export function causalModel(engine: Engine, { parameters, config, body, head }: ModelParts): CausalModel {
  const { vocabSize, width, positions } = config
  function forward(tokens: TokenBatch): Tensor {
    if (tokens.length > positions) throw new Error(`Cannot run ${tokens.length} positions: this model has ${positions}`)
    return body(tokens)
  }
  return {
    engine,
    parameters: parameters.trainable,
    frozen: parameters.frozen,
    vocabSize,
    width,
    positions,
    forward,
    loss: (tokens, targets, lossSum, options) => crossEntropyHead(forward(tokens), head, targets, lossSum, options),
    logits: (hidden) => headLogits(hidden, head),
  }
}
