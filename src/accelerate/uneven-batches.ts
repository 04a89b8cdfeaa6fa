import type { BatchCursor } from './batch-cursor.ts'
import type { RankGroup } from './rank-group.ts'

/**
 * Batches that each rank makes for itself, unequally many. All ranks loop as often as the one that has most: a rank that has no more
 * gets its last batch again, whose gradients, items and gathered results the Accelerator leaves out.
 */
export class UnevenBatches<Batch> implements AsyncIterable<Batch> {
  readonly #batches: Iterable<Batch> | AsyncIterable<Batch>
  readonly #group: RankGroup
  readonly #cursor: BatchCursor

  constructor(batches: Iterable<Batch> | AsyncIterable<Batch>, group: RankGroup, cursor: BatchCursor) {
    this.#batches = batches
    this.#group = group
    this.#cursor = cursor
  }

  /** @throws when a rank has none at all while others have some: nothing can stand in for a batch that never was. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Batch, void, void> {
    const source = Symbol.asyncIterator in this.#batches ? this.#batches[Symbol.asyncIterator]() : this.#batches[Symbol.iterator]()
    let ahead = await source.next()
    let standIn: { readonly batch: Batch } | null = null
    using loop = this.#cursor.enter()
    for (;;) {
      const here = ahead
      if (!here.done) ahead = await source.next()
      const states = await this.#group.gather([here.done ? 0 : 1, ahead.done ? 0 : 1])
      if (states.every(([has]) => has === 0)) return
      if (!here.done) standIn = { batch: here.value }
      if (!standIn) throw new Error(`Cannot loop on rank ${this.#group.rank}: it has no batch at all while others have, need one, or a DataLoader over all samples`)
      loop.place = { real: here.done ? 0 : 1, rows: 1, last: states.every(([, more]) => more === 0) }
      yield standIn.batch
    }
  }
}
