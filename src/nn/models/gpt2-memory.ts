import { layOutParameters } from '../../engine/parameters.ts'
import type { Gpt2Config } from './gpt2-config.ts'
import { gpt2Parameters } from './gpt2.ts'

export interface BatchShape {
  /** Rows of a micro-batch. */
  readonly batch: number
  /** Tokens of a row. */
  readonly length: number
}

/** Bytes on one device while it trains. */
export interface MemoryPrediction {
  readonly parameters: number
  readonly gradients: number
  readonly moments: number
  /** What the forward keeps for the backward, and the gradients in flight. */
  readonly activations: number
  readonly logits: number
  readonly total: number
}

export interface AdapterLimits {
  readonly maxStorageBufferBindingSize: number
  readonly maxBufferSize: number
}

/** An estimate from shapes: buffers are rounded up to 256 bytes and shared by size, which it leaves out. */
export function predictMemory(config: Gpt2Config, { batch, length }: BatchShape): MemoryPrediction {
  const parameters = layOutParameters(gpt2Parameters(config)).elements * 4
  const rows = batch * length
  const { width, innerWidth, heads, layers, vocabSize } = config
  // Two norms, two residual sums, qkv, the mixed heads; the MLP keeps its hidden layer before and after the activation.
  const perLayer = 8 * width + 2 * innerWidth + heads + 4
  const inFlight = 4 * width + 2 * innerWidth
  const activations = rows * (layers * perLayer + 2 * width + inFlight) * 4
  const logits = rows * vocabSize * 4
  return { parameters, gradients: parameters, moments: 2 * parameters, activations, logits, total: 4 * parameters + activations + logits }
}

/** Null when the model fits the adapter; else a sentence with the numbers. */
export function checkFits(config: Gpt2Config, { batch, length }: BatchShape, limits: AdapterLimits): string | null {
  const { vocabSize, width, innerWidth, positions } = config
  if (length > positions) return `Cannot train on ${length} tokens a row: the model has ${positions} positions`
  const rows = batch * length
  const bound: readonly (readonly [string, number])[] = [
    [`the token embedding (${vocabSize} x ${width})`, vocabSize * width],
    [`the logits of a micro-batch (${rows} x ${vocabSize})`, rows * vocabSize],
    [`the hidden layer of a micro-batch (${rows} x ${innerWidth})`, rows * innerWidth],
    [`the queries, keys and values of a micro-batch (${rows} x ${3 * width})`, rows * 3 * width],
    [`an MLP weight (${width} x ${innerWidth})`, width * innerWidth],
    [`an attention weight (${width} x ${3 * width})`, 3 * width * width],
  ]
  const worst = bound.reduce((most, one) => (one[1] > most[1] ? one : most))
  if (worst[1] * 4 > limits.maxStorageBufferBindingSize) {
    return `Cannot fit ${worst[0]}: ${worst[1] * 4} bytes, this adapter binds at most ${limits.maxStorageBufferBindingSize}`
  }
  const { parameters } = predictMemory(config, { batch, length })
  if (parameters > limits.maxBufferSize) return `Cannot fit the parameters: ${parameters} bytes, this adapter allows buffers of at most ${limits.maxBufferSize}`
  return null
}
