import { type TokenBatch, embedding, uploadTokens } from '../engine/ops/embedding.ts'
import type { Tensor } from '../engine/tensor.ts'
import { Module } from './module.ts'
import { type Weight, normal } from './weight.ts'

/** A table with a row for each token. */
export class Embedding extends Module {
  readonly weight: Weight

  constructor(vocabSize: number, width: number, { standardDeviation = 0.1 }: { readonly standardDeviation?: number } = {}) {
    super()
    this.weight = normal([vocabSize, width], standardDeviation)
  }

  /** ids: [batch * length], on the GPU until the end of the surrounding `accumulate` or `noGrad`. @throws for an id outside the table. */
  tokens(ids: Uint32Array<ArrayBuffer>, { batch, length }: { readonly batch: number; readonly length: number }): TokenBatch {
    return uploadTokens(this.weight.tensor.engine, ids, { batch, length, vocabSize: this.weight.shape[0] ?? 0 })
  }

  /** The tokens' rows, plus one of `positions` for each place: [batch * length, width] */
  forward(tokens: TokenBatch, positions: Embedding | null = null): Tensor {
    return embedding(tokens, this.weight.tensor, positions?.weight.tensor ?? null)
  }
}
