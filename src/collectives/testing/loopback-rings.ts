import { type LoopbackLink, loopbackPair } from '../../transport/loopback.ts'
import { createRing, type Ring } from '../ring.ts'

/** One process as a whole ring. */
export interface LoopbackRings extends Disposable {
  readonly rings: readonly Ring[]
  /** Rank's end of its link to the next one. */
  readonly next: readonly LoopbackLink[]
  /** Rank's end of its link to the previous one; with two ranks the same object as in `next`. */
  readonly previous: readonly LoopbackLink[]
  /** What each ring said of its failure. */
  readonly failures: readonly string[][]
}

/** The rank at `index` is called `rank <index>`. */
export function loopbackRings(worldSize: number, options: { readonly generation?: number; readonly deadlineMs?: number } = {}): LoopbackRings {
  const { generation = 1, deadlineMs = 20_000 } = options
  const { next, previous } = connect(worldSize)
  const failures: string[][] = []
  const rings = Array.from({ length: worldSize }, (_, rank) => {
    const told: string[] = []
    failures.push(told)
    const ring = createRing({ rank, worldSize, generation, deadlineMs, next: next[rank] ?? null, previous: previous[rank] ?? null })
    ring.onFailure = (cause) => told.push(cause.message)
    return ring
  })
  return {
    rings,
    next,
    previous,
    failures,
    [Symbol.dispose]: () => {
      for (const ring of rings) ring.abort('the test is over')
    },
  }
}

function connect(worldSize: number): { next: LoopbackLink[]; previous: LoopbackLink[] } {
  if (worldSize === 1) return { next: [], previous: [] }
  if (worldSize === 2) {
    const ends = loopbackPair(['rank 0', 'rank 1'])
    return { next: ends, previous: ends }
  }
  const pairs = Array.from({ length: worldSize }, (_, rank) => loopbackPair([`rank ${rank}`, `rank ${(rank + 1) % worldSize}`]))
  const previous = pairs.map((_, rank) => pairs[(rank + worldSize - 1) % worldSize]?.[1])
  return { next: pairs.map(([left]) => left), previous: previous.filter((link) => link !== undefined) }
}
