import { shuffledIndex } from '../data/sample-order.ts'
import { type BatchList, type Place, rankShare } from './batch-list.ts'

export interface DataLoaderSettings<Sample, Batch> {
  /** Samples of a rank's batch; with `splitBatches` of all ranks' batches together. */
  readonly batchSize: number
  /** Makes a batch. Of `samples`, those from `real` on only stand in, and must not count; there are none unless `evenBatches`. */
  readonly collate: (samples: readonly Sample[], real: number) => Batch
  /** Another order in each epoch, from this seed. */
  readonly shuffleSeed?: number
  /** Ranks share each batch, so that the samples of an update do not depend on how many they are. */
  readonly splitBatches?: boolean
  /** Fills every batch up with samples from the start, as Accelerate's even_batches. */
  readonly evenBatches?: boolean
}

/** Batches from a list of samples. `accelerator.prepare` gives each rank its part. */
export class DataLoader<Sample, Batch> implements BatchList<Batch> {
  readonly #samples: readonly Sample[]
  readonly #settings: DataLoaderSettings<Sample, Batch>

  constructor(samples: readonly Sample[], settings: DataLoaderSettings<Sample, Batch>) {
    if (samples.length === 0) throw new Error('Cannot load batches: there are no samples, need at least 1')
    if (!(Number.isInteger(settings.batchSize) && settings.batchSize >= 1)) throw new Error(`Cannot load batches of ${settings.batchSize}: need a whole number from 1`)
    this.#samples = samples
    this.#settings = settings
  }

  batchesPerEpoch(worldSize: number): number {
    const { batchSize, splitBatches = false } = this.#settings
    return Math.ceil(this.#samples.length / (splitBatches ? batchSize : batchSize * worldSize))
  }

  batchAt({ step, epoch, rank, worldSize }: Place): { readonly batch: Batch; readonly real: number; readonly rows: number } {
    const { batchSize, splitBatches: split = false, evenBatches = false, collate } = this.#settings
    const { start, end } = rankShare(step, { rank, worldSize, samples: this.#samples.length, batchSize, split })
    const real = end - start
    const rows = evenBatches ? (split ? Math.ceil(batchSize / worldSize) : batchSize) : Math.max(1, real)
    const samples = Array.from({ length: rows }, (_, row) => this.#sample(row < real ? start + row : (row - real) % this.#samples.length, epoch))
    // A whole batch that stands in is left out by the Accelerator; rows within a batch are collate's to leave out.
    return { batch: collate(samples, evenBatches ? real : rows), real, rows }
  }

  #sample(position: number, epoch: number): Sample {
    const { shuffleSeed: seed } = this.#settings
    const { length } = this.#samples
    const index = seed === undefined ? position : shuffledIndex(position, length, { seed, epoch })
    const sample = this.#samples[index]
    if (sample === undefined) throw new Error(`Cannot load sample ${index}: it is undefined, need one of ${length}`)
    return sample
  }
}
