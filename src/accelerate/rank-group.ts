import type { Ring } from '../collectives/ring.ts'

/** What of a ring the ranks of a script use. */
export type ScriptRing = Pick<Ring, 'rank' | 'worldSize' | 'bytesSent' | 'sendingMs' | 'allReduce' | 'allGather' | 'broadcast' | 'abort'>

/** Numbers that travel in one frame. */
const GATHER_NUMBERS = 4096

/** All ranks of a script. Every rank calls the same methods in the same order; each call has a number of its own. */
export class RankGroup {
  readonly ring: ScriptRing
  #calls = 0

  constructor(ring: ScriptRing) {
    this.ring = ring
  }

  get rank(): number {
    return this.ring.rank
  }

  get worldSize(): number {
    return this.ring.worldSize
  }

  /** The number of the next collective, equal on all ranks. */
  next(): number {
    return this.#calls++
  }

  /** Everyone's numbers, by rank; ranks may give unequally many, also none. */
  async gather(mine: ArrayLike<number>): Promise<Float64Array<ArrayBuffer>[]> {
    const own = Float64Array.from(mine)
    if (this.worldSize === 1) return [own]
    const lengths = await this.#gatherEqual(Float64Array.of(own.length))
    const parts = lengths.map(([length = 0]) => new Float64Array(length))
    const most = Math.max(...parts.map(({ length }) => length))
    for (let start = 0; start < most; start += GATHER_NUMBERS) {
      const piece = new Float64Array(Math.min(GATHER_NUMBERS, most - start))
      piece.set(own.subarray(start, start + piece.length))
      const pieces = await this.#gatherEqual(piece)
      for (const [rank, part] of parts.entries()) part.set(pieces[rank]?.subarray(0, Math.max(0, part.length - start)) ?? [], Math.min(start, part.length))
    }
    return parts
  }

  /** Sums over ranks, element by element, in rank order. @throws when ranks give unequally many. */
  async sum(mine: ArrayLike<number>): Promise<Float64Array<ArrayBuffer>> {
    const parts = await this.gather(mine)
    const other = parts.findIndex(({ length }) => length !== mine.length)
    if (other >= 0) throw new Error(`Cannot sum over ranks: rank ${other} gives ${parts[other]?.length} numbers, rank ${this.rank} ${mine.length}, need equally many`)
    return Float64Array.from({ length: mine.length }, (_, index) => parts.reduce((sum, part) => sum + (part[index] ?? 0), 0))
  }

  /** Replaces the bytes by rank 0's. */
  async broadcast(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.ring.broadcast(bytes, 0, { update: this.next(), collective: 0 })
  }

  /** Resolves when all ranks have come here. */
  async meet(): Promise<void> {
    await this.#gatherEqual(Float64Array.of(0))
  }

  async #gatherEqual(mine: Float64Array<ArrayBuffer>): Promise<Float64Array<ArrayBuffer>[]> {
    if (this.worldSize === 1) return [mine]
    const parts = await this.ring.allGather(new Uint8Array(mine.buffer), { update: this.next(), collective: 0 })
    return parts.map((bytes) => new Float64Array(bytes.slice().buffer))
  }
}
