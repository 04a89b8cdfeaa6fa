import { MAX_PAYLOAD_BYTES } from '../protocol/frame.ts'

/** Floats in a frame. */
const CHUNK_ELEMENTS = MAX_PAYLOAD_BYTES / Float32Array.BYTES_PER_ELEMENT

export interface Chunk {
  readonly segment: number
  /** First element. */
  readonly start: number
  readonly length: number
}

/**
 * Cuts `count` floats into one segment per rank and each segment into chunks of at most a frame, all about equally long.
 * The same on every rank; chunks are numbered segment by segment.
 */
export class ChunkLayout {
  readonly chunks: number
  readonly #count: number
  readonly #worldSize: number
  /** Number of each segment's first chunk; one more entry for the end. */
  readonly #first: readonly number[]

  constructor(count: number, worldSize: number) {
    this.#count = count
    this.#worldSize = worldSize
    const first = [0]
    for (let segment = 0; segment < worldSize; segment++) {
      const length = this.#edge(segment + 1) - this.#edge(segment)
      first.push((first[segment] ?? 0) + Math.ceil(length / CHUNK_ELEMENTS))
    }
    this.#first = first
    this.chunks = first[worldSize] ?? 0
  }

  /** Numbers of a segment's chunks: from `first` up to, not including, `end`. */
  range(segment: number): { readonly first: number; readonly end: number } {
    return { first: this.#first[segment] ?? 0, end: this.#first[segment + 1] ?? 0 }
  }

  /** @returns null when there is no such chunk. */
  chunk(number: number): Chunk | null {
    if (number >= this.chunks) return null
    let segment = 0
    while (number >= (this.#first[segment + 1] ?? this.chunks)) segment++
    const { first, end } = this.range(segment)
    const from = this.#edge(segment)
    const length = this.#edge(segment + 1) - from
    const edge = (part: number) => from + Math.floor((part * length) / (end - first))
    const start = edge(number - first)
    return { segment, start, length: edge(number - first + 1) - start }
  }

  #edge(segment: number): number {
    return Math.floor((segment * this.#count) / this.#worldSize)
  }
}
