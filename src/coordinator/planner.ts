import type { Corpus } from '../data/corpus.ts'
import { samplesOfUpdate } from '../data/sample-order.ts'
import type { MicroBatchPlan, UpdatePlan } from '../protocol/update-plan.ts'

export interface PlannerInput {
  readonly seed: number
  readonly numSamples: number
  /** Samples per update; fixed when the room starts, whatever the number of ranks. */
  readonly globalBatchSize: number
  /** Rows of one micro-batch on a device. */
  readonly perDeviceBatchSize: number
  readonly corpus: Pick<Corpus, 'itemsOf' | 'tokensOf'>
  readonly strategy: 'random' | 'sequential'
  readonly hashEvery: number
  /** Relative shares of the micro-batches by rank; empty means even shares. */
  readonly shares: readonly number[]
}

/** U1, U2: which samples update `update` takes, cut into micro-batches and dealt to `worldSize` ranks. */
export function planUpdate(input: PlannerInput, generation: number, update: number, worldSize: number): UpdatePlan {
  const { indices, epochAfter } = samplesOfUpdate({
    seed: input.seed,
    update,
    numSamples: input.numSamples,
    globalBatchSize: input.globalBatchSize,
    strategy: input.strategy,
  })
  const microBatches = cutIntoMicroBatches(indices, input.perDeviceBatchSize)
  return {
    generation,
    update,
    microBatches: dealMicroBatches(microBatches, worldSize, input.shares),
    numItems: sum(indices, (sample) => input.corpus.itemsOf(sample)),
    numTokens: sum(indices, (sample) => input.corpus.tokensOf(sample)),
    epoch: epochAfter,
    hash: input.hashEvery > 0 && (update + 1) % input.hashEvery === 0,
  }
}

function sum(indices: readonly number[], of: (sample: number) => number): number {
  return indices.reduce((total, sample) => total + of(sample), 0)
}

export function cutIntoMicroBatches(indices: readonly number[], rows: number): MicroBatchPlan[] {
  const cut: MicroBatchPlan[] = []
  for (let start = 0; start < indices.length; start += rows) cut.push(indices.slice(start, start + rows))
  return cut
}

/**
 * Deals micro-batches in order, neighbours to the same rank, in proportion to `shares` (even when empty or not one per
 * rank). The remainder goes to the largest fractions, lowest rank first, so that the answer is the same everywhere.
 */
export function dealMicroBatches(microBatches: readonly MicroBatchPlan[], worldSize: number, shares: readonly number[]): MicroBatchPlan[][] {
  const weights = shares.length === worldSize ? shares : new Array<number>(worldSize).fill(1)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const exact = weights.map((weight) => (microBatches.length * weight) / total)
  const counts = exact.map(Math.floor)
  const left = microBatches.length - counts.reduce((sum, count) => sum + count, 0)
  const byFraction = exact.map((value, rank) => ({ rank, fraction: value % 1 })).sort((a, b) => b.fraction - a.fraction || a.rank - b.rank)
  for (const { rank } of byFraction.slice(0, left)) counts[rank] = (counts[rank] ?? 0) + 1
  let start = 0
  return counts.map((count) => {
    const mine = microBatches.slice(start, start + count)
    start += count
    return mine
  })
}
