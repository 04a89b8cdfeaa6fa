/** Which collective of which update: equal on all ranks, so that frames of different ones cannot mix. */
export interface CollectiveTag {
  readonly update: number
  /** 0, 1, ... in the order in which every rank starts them. */
  readonly collective: number
}

/** What data parallelism needs of a ring; collectives' ring is one, and it never learns what the numbers mean. */
export interface Reducer {
  readonly rank: number
  readonly worldSize: number
  /** Time so far in which this rank had something to send, in milliseconds. */
  readonly sendingMs: number
  /** Replaces `data` by the sum over ranks, the same bits on every rank. */
  allReduce(data: Float32Array<ArrayBuffer>, tag: CollectiveTag): Promise<void>
  /** Everyone's bytes, by rank; all ranks give equally many. */
  allGather(mine: Uint8Array<ArrayBuffer>, tag: CollectiveTag): Promise<Uint8Array[]>
}
