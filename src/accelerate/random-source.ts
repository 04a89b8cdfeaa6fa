import { streamOf, uniform } from '../base/random.ts'

const STREAM = streamOf('accelerator.random')

/** Random numbers that a saved state goes on with: the n-th depends on seed, rank and n alone. */
export class RandomSource {
  /** Numbers drawn so far. */
  drawn = 0
  readonly #seed: number
  readonly #stream: number

  constructor(seed: number, rank: number) {
    this.#seed = seed
    this.#stream = (STREAM + rank) >>> 0
  }

  /** In (0, 1). */
  uniform(): number {
    return uniform(this.#seed, this.#stream, this.drawn++)
  }

  /** A whole number from 0 to below `end`. */
  integer(end: number): number {
    return Math.floor(this.uniform() * end)
  }
}
