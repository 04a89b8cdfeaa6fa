/** Batches by number, for any rank: what a loader must be able to tell without running. */
export interface BatchList<Batch> {
  /** On every rank. */
  batchesPerEpoch(worldSize: number): number
  /** `real`: how many of the batch's `rows` samples count. */
  batchAt(place: Place): { readonly batch: Batch; readonly real: number; readonly rows: number }
}

export interface Place {
  readonly step: number
  readonly epoch: number
  readonly rank: number
  readonly worldSize: number
}

export interface ShareSettings {
  readonly rank: number
  readonly worldSize: number
  /** Of the epoch. */
  readonly samples: number
  readonly batchSize: number
  /** Whether the batch is that of all ranks together. */
  readonly split: boolean
}

/**
 * Positions of the samples in batch `step` of a rank, none when start is end: the ranks' batches are neighbours, in rank order, so that
 * gathered results have the samples' order.
 */
export function rankShare(step: number, { rank, worldSize, samples, batchSize, split }: ShareSettings): { readonly start: number; readonly end: number } {
  const together = split ? batchSize : batchSize * worldSize
  const from = step * together
  const count = Math.min(together, samples - from)
  if (!split) return { start: from + Math.min(count, rank * batchSize), end: from + Math.min(count, (rank + 1) * batchSize) }
  // Whoever comes first has one more when they cannot be equal.
  const edge = (index: number) => from + Math.floor(count / worldSize) * index + Math.min(index, count % worldSize)
  return { start: edge(rank), end: edge(rank + 1) }
}
