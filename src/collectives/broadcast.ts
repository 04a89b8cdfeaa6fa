import { buildFrame, type Frame, HEADER_BYTES, MAX_PAYLOAD_BYTES, writeHeader } from '../protocol/frame.ts'
import { Collective, type CollectiveTag, type RingSeat } from './collective.ts'
import type { FrameSource } from './outbox.ts'

/**
 * The root's bytes to everyone, in place, along the ring. A rank is sent nothing before it says that it is ready: the root
 * could otherwise be a whole model ahead of a rank that is still busy.
 */
export class Broadcast extends Collective {
  readonly #bytes: Uint8Array<ArrayBuffer>
  readonly #root: number
  readonly #chunks: number
  /** Chunks that are here and may be sent on. */
  #available: number
  #nextReady = false
  #sentChunks = 0

  constructor(seat: RingSeat, tag: CollectiveTag, { bytes, root }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly root: number }) {
    super(seat, tag)
    this.#bytes = bytes
    this.#root = root
    this.#chunks = Math.ceil(bytes.byteLength / MAX_PAYLOAD_BYTES)
    this.#available = seat.rank === root ? this.#chunks : 0
  }

  start(): void {
    const { rank, worldSize } = this.seat
    const isRoot = rank === this.#root
    const sends = (rank + 1) % worldSize !== this.#root
    this.expect(isRoot ? 0 : this.#chunks, sends ? this.#chunks : 0)
    if (this.#chunks === 0) return
    if (sends) this.seat.supply(this.#source())
    if (!isRoot) this.seat.sendBack(buildFrame(this.header('ready', 0)))
  }

  accept(frame: Frame): boolean {
    if (frame.kind === 'ready') {
      if (frame.payload.byteLength > 0 || this.#nextReady) return false
      this.#nextReady = true
      this.seat.poke()
      return true
    }
    const start = frame.chunk * MAX_PAYLOAD_BYTES
    // A link keeps the order, so that chunks arrive one after the other.
    const expected = frame.chunk === this.#available && this.seat.rank !== this.#root && this.#available < this.#chunks
    if (!expected || frame.payload.byteLength !== Math.min(MAX_PAYLOAD_BYTES, this.#bytes.byteLength - start)) return false
    this.#bytes.set(frame.payload, start)
    this.#available++
    this.seat.poke()
    this.received()
    return true
  }

  #source(): FrameSource {
    const total = this.#chunks
    const sentChunks = () => this.#sentChunks
    return {
      take: () => this.#take(),
      get finished() {
        return sentChunks() >= total
      },
    }
  }

  #take(): Uint8Array<ArrayBuffer> | null {
    if (!this.#nextReady || this.#sentChunks >= this.#available) return null
    const start = this.#sentChunks * MAX_PAYLOAD_BYTES
    const payload = this.#bytes.subarray(start, start + MAX_PAYLOAD_BYTES)
    const frame = this.seat.scratch.subarray(0, HEADER_BYTES + payload.byteLength)
    writeHeader(frame, this.header('broadcast', this.#sentChunks), payload.byteLength)
    frame.set(payload, HEADER_BYTES)
    this.#sentChunks++
    this.sent()
    return frame
  }
}
