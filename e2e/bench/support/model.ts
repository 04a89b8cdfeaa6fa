// The model, its first weights and its data, the same for all libraries.
import { normalArray } from '../../../src/base/random.ts'
import { gpt2Parameters } from '../../../src/nn/models/gpt2.ts'
import { gpt2Config } from '../../../src/nn/models/gpt2-config.ts'

export const BATCH = 8
export const LENGTH = 64
export const LEARNING_RATE = 1e-3
export const ADAMW = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1 }
export const CONFIG = gpt2Config({ vocab_size: 256, n_positions: LENGTH, n_embd: 128, n_layer: 4, n_head: 4 })
/** Targets of a step: the last position of each row has none. */
export const ITEMS = BATCH * (LENGTH - 1)

export interface Weight {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array<ArrayBuffer>
}

export function firstWeights(): Weight[] {
  return gpt2Parameters(CONFIG).map(({ name, shape }) => {
    const size = shape.reduce((product, extent) => product * extent, 1)
    if (shape.length === 2) return { name, shape, data: normalArray(1, name, size, 0.02) }
    return { name, shape, data: new Float32Array(size).fill(name.endsWith('.weight') ? 1 : 0) }
  })
}

export interface Batch {
  readonly ids: Uint32Array<ArrayBuffer>
  /** The ids that follow; any where none does. */
  readonly targets: Int32Array<ArrayBuffer>
  /** 1, or 0 where there is no target. */
  readonly valid: Float32Array<ArrayBuffer>
}

/** Sequences that a model can learn: each row counts up by its own step, with some noise. */
export function batchOf(step: number): Batch {
  const ids = new Uint32Array(BATCH * LENGTH)
  for (let row = 0; row < BATCH; row++) {
    const stride = 1 + ((row + step) % 7)
    for (let t = 0; t < LENGTH; t++) ids[row * LENGTH + t] = (row * 31 + step * 17 + t * stride + (t % 11 === 3 ? row : 0)) % CONFIG.vocabSize
  }
  const valid = Float32Array.from(ids, (_, at) => ((at + 1) % LENGTH === 0 ? 0 : 1))
  const targets = Int32Array.from(ids, (_, at) => (valid[at] === 1 ? (ids[at + 1] ?? 0) : 0))
  return { ids, targets, valid }
}

/** Counts the dispatches of `body`. */
export async function countDispatches<T>(body: () => Promise<T>): Promise<[T, number]> {
  const { prototype } = GPUComputePassEncoder
  const original = prototype.dispatchWorkgroups
  let count = 0
  prototype.dispatchWorkgroups = function (...grid) {
    count++
    return original.apply(this, grid)
  }
  try {
    return [await body(), count]
  } finally {
    prototype.dispatchWorkgroups = original
  }
}
