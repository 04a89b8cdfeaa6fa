import { streamOf, uniform } from '../base/random.ts'
import type { Engine } from '../engine/engine.ts'
import { uploadTokens } from '../engine/ops/embedding.ts'
import { Storage } from '../engine/storage.ts'
import type { Tensor } from '../engine/tensor.ts'
import type { CausalModel } from '../nn/model.ts'
import { type SamplingOptions, sampleToken } from './sample-token.ts'

export interface GenerateOptions extends SamplingOptions {
  readonly prompt: readonly number[]
  /** How many tokens to add. */
  readonly tokens: number
  /** Positions that are computed; one shape for all steps, so that nothing is compiled on the way. */
  readonly length: number
  /** Most tokens that the model sees, at most `length`; longer texts lose their beginning. */
  readonly window: number
  readonly seed: number
}

const STREAM = streamOf('generate')

/**
 * Continues a prompt, token by token; returns the new ids. Each draw depends on (seed, position) alone. It waits for the GPU
 * after each token, so whoever shares the thread gets its turn. An empty prompt starts from id 0.
 */
export async function generate(model: CausalModel, options: GenerateOptions, signal?: AbortSignal): Promise<number[]> {
  const { prompt, tokens, length, window, seed } = options
  const unknown = prompt.find((id) => id >= model.vocabSize)
  if (unknown !== undefined) throw new Error(`Cannot generate: the prompt has id ${unknown}, need ids below ${model.vocabSize}`)
  const context = prompt.length > 0 ? [...prompt] : [0]
  const start = context.length
  for (let index = 0; index < tokens; index++) {
    signal?.throwIfAborted()
    const logits = await nextLogits(model, context.slice(-window), length)
    context.push(sampleToken(logits, options, uniform(seed, STREAM, index)))
  }
  return context.slice(start)
}

/** ids: up to `length` -> logits of the token that follows: [vocab]. Causal attention keeps the padding behind out of it. */
async function nextLogits(model: CausalModel, ids: readonly number[], length: number): Promise<Float32Array> {
  const { engine, vocabSize } = model
  const padded = new Uint32Array(length)
  padded.set(ids)
  const pending = engine.tape.withoutGradients(() => {
    using _scope = engine.scope()
    const tokens = uploadTokens(engine, padded, { batch: 1, length, vocabSize })
    return model.logits(rowOf(engine, model.forward(tokens), ids.length - 1)).read()
  })
  return pending
}

/** x: [R, C] -> a copy of one row: [1, C]. */
function rowOf(engine: Engine, x: Tensor, row: number): Tensor {
  const columns = x.size / (x.shape[0] ?? 1)
  const copy = engine.empty([1, columns])
  const { buffer, bufferId, offset } = x.storage
  engine.copy(new Storage(buffer, bufferId, offset + row * columns * 4, columns * 4, null), copy.storage, columns * 4)
  return copy
}
