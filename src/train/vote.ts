import type { CollectiveTag, Reducer } from '../parallel/reducer.ts'

/** What a rank tells the others at the end of a window, so that all of them decide the same (U3, U4, U5). */
export interface Vote {
  /** Prediction targets that this rank counted. */
  readonly items: number
  readonly lossSum: number
  /** Of the summed gradients, before scaling. */
  readonly sumSquares: number
  readonly finite: boolean
  /** Why this rank cannot go on, or null. */
  readonly failure: string | null
}

export interface Verdict {
  readonly items: number
  readonly lossSum: number
  readonly sumSquares: number
  readonly finite: boolean
}

/** Every vote has this size: all-gather wants equal ones. */
const VOTE_BYTES = 512
const HEADER_BYTES = 28
/** Adapters may round differently, by far less than this; other gradients differ by far more. */
const NORM_TOLERANCE = 1e-4

export async function gatherVotes(reducer: Reducer, vote: Vote, tag: CollectiveTag): Promise<Vote[]> {
  if (reducer.worldSize === 1) return [vote]
  return (await reducer.allGather(encodeVote(vote), tag)).map(decodeVote)
}

/**
 * Adds the votes up. The norm is rank 0's everywhere, so that ranks on unlike adapters clip by the same bits.
 * @throws when a rank failed, naming the first, or when ranks hold different gradients.
 */
export function countVotes(votes: readonly Vote[], update: number): Verdict {
  const failed = votes.findIndex(({ failure }) => failure !== null)
  if (failed >= 0) throw new Error(`Cannot finish update ${update + 1}: rank ${failed} failed: ${votes[failed]?.failure}`)
  const sumSquares = votes[0]?.sumSquares ?? 0
  const finite = votes.every((vote) => vote.finite)
  const other = votes.findIndex((vote) => Math.abs(vote.sumSquares - sumSquares) > NORM_TOLERANCE * sumSquares)
  if (finite && other >= 0) {
    throw new Error(`Cannot finish update ${update + 1}: rank ${other} holds gradients of squared norm ${votes[other]?.sumSquares}, rank 0 of ${sumSquares}`)
  }
  const total = (of: (vote: Vote) => number) => votes.reduce((sum, vote) => sum + of(vote), 0)
  const lossSum = total((vote) => vote.lossSum)
  return { items: total((vote) => vote.items), lossSum, sumSquares, finite: finite && Number.isFinite(lossSum) }
}

export function encodeVote(vote: Vote): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(VOTE_BYTES)
  const view = new DataView(bytes.buffer)
  view.setFloat64(0, vote.items, true)
  view.setFloat64(8, vote.lossSum, true)
  view.setFloat64(16, vote.sumSquares, true)
  view.setUint8(24, vote.finite ? 1 : 0)
  view.setUint8(25, vote.failure === null ? 0 : 1)
  // encodeInto stops before a character that does not fit, so a long message is cut at a whole one.
  const { written } = new TextEncoder().encodeInto(vote.failure ?? '', bytes.subarray(HEADER_BYTES))
  view.setUint16(26, written, true)
  return bytes
}

/** @throws when the bytes are not a vote: ranks must run the same build. */
export function decodeVote(bytes: Uint8Array): Vote {
  if (bytes.byteLength !== VOTE_BYTES) throw new Error(`Cannot read a vote: ${bytes.byteLength} bytes, need ${VOTE_BYTES}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const written = Math.min(view.getUint16(26, true), VOTE_BYTES - HEADER_BYTES)
  const text = new TextDecoder().decode(bytes.subarray(HEADER_BYTES, HEADER_BYTES + written))
  return {
    items: view.getFloat64(0, true),
    lossSum: view.getFloat64(8, true),
    sumSquares: view.getFloat64(16, true),
    finite: view.getUint8(24) === 1,
    failure: view.getUint8(25) === 1 ? text : null,
  }
}
