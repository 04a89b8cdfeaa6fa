import type { Engine } from '../engine/engine.ts'
import type { Storage } from '../engine/storage.ts'
import { Tensor } from '../engine/tensor.ts'

/** Bytes between slots: the largest minimum offset that WebGPU allows. */
const SLOT_BYTES = 256

/**
 * Loss sums by micro-batch, added up in float64 on the CPU: one float32 sum over a long window would lose digits. Windows longer than
 * the number of slots start over, each slot then holding the sum of several.
 */
export class LossSlots {
  readonly #engine: Engine
  readonly #storage: Storage
  readonly #slots: readonly Tensor[]

  constructor(engine: Engine, slots = 64) {
    this.#engine = engine
    this.#storage = engine.reserve(slots * SLOT_BYTES, 'loss sums')
    this.#slots = Array.from({ length: slots }, (_, index) => new Tensor(engine, [1], engine.slice(this.#storage, index * SLOT_BYTES, 4)))
  }

  clear(): void {
    this.#engine.clear(this.#storage)
  }

  /** f32 [1] */
  of(microBatch: number): Tensor {
    const slot = this.#slots[microBatch % this.#slots.length]
    if (!slot) throw new Error(`Cannot take the loss slot of micro-batch ${microBatch}: need a whole number from 0`)
    return slot
  }

  async read(): Promise<number> {
    const values = new Float32Array(await this.#engine.readBytes(this.#storage, this.#storage.bytes))
    let sum = 0
    for (let index = 0; index < values.length; index += SLOT_BYTES / 4) sum += values[index] ?? 0
    return sum
  }
}
