import { type Frame, HEADER_BYTES, relabel, writeHeader } from '../protocol/frame.ts'
import { ChunkLayout } from './chunk-layout.ts'
import { Collective, type CollectiveTag, type RingSeat } from './collective.ts'
import type { FrameSource } from './outbox.ts'

/**
 * Sum over ranks, in place: reduce-scatter, then all-gather (Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for
 * clusters of workstations", 2009), chunk by chunk without a barrier between the halves.
 * Segment s starts at rank s; each rank adds its own floats into the frame and passes it on; at rank s - 1 the sum is whole
 * and starts its way round as it is. So every rank gets the same bits, and a frame is never copied within this process.
 * Floats lie on the wire as in memory: little-endian, as on every machine that runs a browser.
 */
export class AllReduce extends Collective {
  readonly #values: Float32Array<ArrayBuffer>
  readonly #layout: ChunkLayout

  constructor(seat: RingSeat, tag: CollectiveTag, values: Float32Array<ArrayBuffer>) {
    super(seat, tag)
    this.#values = values
    this.#layout = new ChunkLayout(values.length, seat.worldSize)
  }

  start(): void {
    const { rank } = this.seat
    const { chunks } = this.#layout
    // A reduce is not received for the own segment and not sent for the one that ends here; a gather likewise, one further.
    this.expect(2 * chunks - this.#chunksOf(rank) - this.#chunksOf(rank + 1), 2 * chunks - this.#chunksOf(rank + 1) - this.#chunksOf(rank + 2))
    if (this.#chunksOf(rank) > 0) this.seat.supply(this.#ownSegment())
  }

  accept(frame: Frame): boolean {
    const chunk = this.#layout.chunk(frame.chunk)
    if (!chunk || frame.payload.byteLength !== chunk.length * 4) return false
    const distance = this.#distance(chunk.segment)
    if (distance === (frame.kind === 'reduce' ? 0 : 1) || !this.first(frame)) return false
    const own = this.#values.subarray(chunk.start, chunk.start + chunk.length)
    const carried = new Float32Array(frame.bytes.buffer, frame.payload.byteOffset, chunk.length)
    if (frame.kind === 'gather') {
      own.set(carried)
      if (distance !== 2 % this.seat.worldSize) this.seat.forward(frame.bytes, this.sent)
    } else {
      add(carried, own)
      if (distance === 1) {
        own.set(carried)
        relabel(frame.bytes, 'gather')
      }
      this.seat.forward(frame.bytes, this.sent)
    }
    this.received()
    return true
  }

  /** How many ranks further the segment began: 0 for the own one, 1 for the one whose sum becomes whole here. */
  #distance(segment: number): number {
    const { rank, worldSize } = this.seat
    return (segment - rank + worldSize) % worldSize
  }

  #chunksOf(rank: number): number {
    const { first, end } = this.#layout.range(rank % this.seat.worldSize)
    return end - first
  }

  #ownSegment(): FrameSource {
    const { first, end } = this.#layout.range(this.seat.rank)
    let number = first
    const take = (): Uint8Array<ArrayBuffer> | null => {
      const chunk = this.#layout.chunk(number)
      if (number >= end || !chunk) return null
      const frame = this.seat.scratch.subarray(0, HEADER_BYTES + chunk.length * 4)
      writeHeader(frame, this.header('reduce', number), chunk.length * 4)
      new Float32Array(frame.buffer, HEADER_BYTES, chunk.length).set(this.#values.subarray(chunk.start, chunk.start + chunk.length))
      number++
      this.sent()
      return frame
    }
    return {
      take,
      get finished() {
        return number >= end
      },
    }
  }
}

/** `into` += `own`, both of the same length. */
function add(into: Float32Array, own: Float32Array): void {
  for (let index = 0; index < into.length; index++) into[index] = (into[index] ?? 0) + (own[index] ?? 0)
}
