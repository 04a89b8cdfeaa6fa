import type { BatchCursor } from './batch-cursor.ts'
import type { BatchList } from './batch-list.ts'
import type { RankGroup } from './rank-group.ts'

export interface LoaderState {
  readonly epoch: number
  /** Batches of it given out. */
  readonly done: number
}

/**
 * One rank's batches. All ranks have equally many: one for which no sample is left gets a stand-in, whose gradients, items and gathered
 * results the Accelerator leaves out.
 */
export class PreparedDataLoader<Batch> implements AsyncIterable<Batch> {
  readonly #list: BatchList<Batch>
  readonly #group: RankGroup
  readonly #cursor: BatchCursor
  #epoch = 0
  #done = 0
  #begun = false
  #resumed = false

  constructor(list: BatchList<Batch>, group: RankGroup, cursor: BatchCursor) {
    this.#list = list
    this.#group = group
    this.#cursor = cursor
  }

  /** The epoch under way, or the first; each loop is one. */
  get epoch(): number {
    return this.#epoch
  }

  /** Batches of an epoch, on every rank. */
  get length(): number {
    return this.#list.batchesPerEpoch(this.#group.worldSize)
  }

  get state(): LoaderState {
    return { epoch: this.#epoch, done: this.#done }
  }

  /** The next loop gives what is left of that epoch. */
  resume({ epoch, done }: LoaderState): void {
    this.#epoch = epoch
    this.#done = done
    this.#resumed = true
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, void> {
    if (!this.#resumed) {
      if (this.#begun) this.#epoch++
      this.#done = 0
    }
    this.#resumed = false
    this.#begun = true
    const { rank, worldSize } = this.#group
    const { length } = this
    using loop = this.#cursor.enter()
    while (this.#done < length) {
      const step = this.#done++
      const { batch, real, rows } = this.#list.batchAt({ step, epoch: this.#epoch, rank, worldSize })
      loop.place = { real, rows, last: step === length - 1 }
      yield batch
    }
  }
}
