import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { type Bucket, type BucketOptions, layOutBuckets } from './buckets.ts'
import type { Reducer } from './reducer.ts'

/**
 * Sums gradients over ranks (distributed data parallel), once per window: gradients stay local until the window's last backward
 * reports its first finished parameter. Each bucket leaves in a fixed order as soon as its gradients are final, while the GPU
 * goes on with the rest of the backward.
 */
export class GradientSync {
  readonly buckets: readonly Bucket[]
  readonly #engine: Engine
  readonly #parameters: FlatParameters

  constructor(engine: Engine, parameters: FlatParameters, options: BucketOptions) {
    this.#engine = engine
    this.#parameters = parameters
    this.buckets = layOutBuckets(parameters.slots, parameters.elements, options)
  }

  /** Starts a window's exchange; with one rank there is none and every call does nothing. */
  begin(reducer: Reducer, update: number): WindowSync {
    return new WindowSync(this.#engine, this.#parameters, reducer.worldSize === 1 ? [] : this.buckets, reducer, update)
  }
}

interface Mapped {
  readonly range: ArrayBuffer
  close(): void
}

/** The exchange of one window. */
export class WindowSync {
  /** Why this rank's gradients could not be read; zeros were sent in their place. */
  failure: unknown = null
  readonly #engine: Engine
  readonly #parameters: FlatParameters
  readonly #buckets: readonly Bucket[]
  readonly #reducer: Reducer
  readonly #update: number
  /** Parameters of each bucket that are not final yet. */
  readonly #pending: Set<string>[]
  /** Buckets handed over so far. */
  #started = 0
  #tail: Promise<void> = Promise.resolve()

  constructor(engine: Engine, parameters: FlatParameters, buckets: readonly Bucket[], reducer: Reducer, update: number) {
    this.#engine = engine
    this.#parameters = parameters
    this.#buckets = buckets
    this.#reducer = reducer
    this.#update = update
    this.#pending = buckets.map(({ names }) => new Set(names))
  }

  /** Collectives of this window; the next one may use this number. */
  get collectives(): number {
    return this.#buckets.length
  }

  /** For `tape.backward` of the window's last micro-batch: `name`'s gradient is final. */
  ready(name: string): void {
    for (const pending of this.#pending) pending.delete(name)
    while (this.#started < this.#buckets.length && this.#pending[this.#started]?.size === 0) this.#start(false)
  }

  /**
   * Sends the buckets that are left: those with parameters that were not used, or all of a rank without micro-batches, whose
   * gradients are zero. Resolves when all sums are on their way to the GPU; rejects when the ring fails.
   */
  finish(): Promise<void> {
    while (this.#started < this.#buckets.length) this.#start(false)
    return this.#tail
  }

  /** As `finish` for a rank that failed: the others still get their collectives, and learn of the failure right after. */
  finishWithZeros(): Promise<void> {
    while (this.#started < this.#buckets.length) this.#start(true)
    return this.#tail
  }

  #start(zeros: boolean): void {
    const collective = this.#started++
    const bucket = this.#buckets[collective]
    if (!bucket) return
    const mapped = zeros ? Promise.resolve(zeroed(bucket)) : this.#map(bucket)
    this.#tail = this.#exchange(this.#tail, bucket, collective, mapped)
    // Whoever calls finish() sees the failure; until then it must not count as unhandled.
    this.#tail.catch(() => {})
  }

  /** Collectives run one after the other, in bucket order. The mapped memory is given back even when an earlier one failed. */
  async #exchange(before: Promise<void>, { offset, length }: Bucket, collective: number, mapping: Promise<Mapped>): Promise<void> {
    const mapped = await mapping
    try {
      await before
      const sums = new Float32Array(mapped.range, 0, length)
      await this.#reducer.allReduce(sums, { update: this.#update, collective })
      this.#engine.write(this.#parameters.gradients, sums, offset * 4)
    } finally {
      mapped.close()
    }
  }

  async #map(bucket: Bucket): Promise<Mapped> {
    const { offset, length } = bucket
    try {
      return await this.#engine.mapBytes(this.#engine.slice(this.#parameters.gradients, offset * 4, length * 4), length * 4)
    } catch (cause) {
      this.failure ??= cause
      return zeroed(bucket)
    }
  }
}

function zeroed({ length }: Bucket): Mapped {
  return { range: new ArrayBuffer(length * 4), close: () => {} }
}
