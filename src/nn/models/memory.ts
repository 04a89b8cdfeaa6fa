import { layOutParameters } from '../../engine/parameters.ts'
import { planParameters, TRAIN_ALL, type Training } from '../parameter-plan.ts'
import { type ModelConfig, modelLayout } from './families.ts'

export interface BatchShape {
  /** Rows of a micro-batch. */
  readonly batch: number
  /** Tokens of a row. */
  readonly length: number
}

/** Bytes on one device while it trains. */
export interface MemoryPrediction {
  /** All of them, frozen ones too. */
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
export function predictMemory(config: ModelConfig, { batch, length }: BatchShape, training: Training = TRAIN_ALL): MemoryPrediction {
  const { trainable, frozen, adapted } = planParameters(modelLayout(config), training)
  const gradients = layOutParameters(trainable).elements * 4
  const parameters = gradients + layOutParameters(frozen).elements * 4
  const rows = batch * length
  const { width, heads, layers, vocabSize } = config
  const [qkv, mixed] = [qkvWidth(config), heads * config.headDim]
  const hidden = hiddenCopies(config) * config.innerWidth
  // Two norms and two residual sums; queries, keys and values, again where they are rotated; the mixed heads; the MLP's hidden layer.
  const perLayer = 4 * width + (config.kind === 'gpt2' ? 1 : 2) * qkv + mixed + hidden + heads + 4
  const inFlight = qkv + mixed + hidden
  // An adapter keeps what is between its halves, twice where it is scaled, and its input where some of that is dropped.
  const adapters = adapted.reduce((sum, { inputs }) => sum + 2 * (training.lora?.rank ?? 0) + (training.lora?.dropout ? inputs : 0), 0)
  const activations = rows * (layers * perLayer + 2 * width + inFlight + adapters) * 4
  const logits = rows * vocabSize * 4
  return { parameters, gradients, moments: 2 * gradients, activations, logits, total: parameters + 3 * gradients + activations + logits }
}

/** Null when the model fits the adapter; else a sentence with the numbers. */
export function checkFits(config: ModelConfig, { batch, length }: BatchShape, limits: AdapterLimits, training: Training = TRAIN_ALL): string | null {
  const { vocabSize, width, innerWidth, positions } = config
  const qkv = qkvWidth(config)
  if (length > positions) return `Cannot train on ${length} tokens a row: the model has ${positions} positions`
  const rows = batch * length
  const bound: readonly (readonly [string, number])[] = [
    [`the token embedding (${vocabSize} x ${width})`, vocabSize * width],
    [`the logits of a micro-batch (${rows} x ${vocabSize})`, rows * vocabSize],
    [`the hidden layer of a micro-batch (${rows} x ${innerWidth})`, rows * innerWidth],
    [`the queries, keys and values of a micro-batch (${rows} x ${qkv})`, rows * qkv],
    [`an MLP weight (${width} x ${innerWidth})`, width * innerWidth],
    [`an attention weight (${width} x ${qkv})`, width * qkv],
  ]
  const worst = bound.reduce((most, one) => (one[1] > most[1] ? one : most))
  if (worst[1] * 4 > limits.maxStorageBufferBindingSize) {
    return `Cannot fit ${worst[0]}: ${worst[1] * 4} bytes, this adapter binds at most ${limits.maxStorageBufferBindingSize}`
  }
  const { trainable, frozen } = planParameters(modelLayout(config), training)
  const parameters = Math.max(...[trainable, frozen].map((specs) => layOutParameters(specs).elements * 4))
  if (parameters > limits.maxBufferSize) return `Cannot fit the parameters: ${parameters} bytes, this adapter allows buffers of at most ${limits.maxBufferSize}`
  return null
}

function qkvWidth({ heads, kvHeads, headDim }: ModelConfig): number {
  return (heads + 2 * kvHeads) * headDim
}

/** Before and after the activation, and what a gated MLP multiplies it by. */
function hiddenCopies(config: ModelConfig): number {
  return config.kind === 'decoder' && config.mlp.kind === 'gated' ? 3 : 2
}
