import { buildFrame, type Frame } from '../protocol/frame.ts'
import { Collective, type CollectiveTag, type RingSeat } from './collective.ts'

/** Everyone's bytes to everyone, at most a frame each and equally many on all ranks; they travel once round the ring. */
export class AllGather extends Collective {
  /** By rank; whole when `done` resolves. */
  readonly parts: Uint8Array<ArrayBuffer>[]
  readonly #mine: Uint8Array<ArrayBuffer>

  constructor(seat: RingSeat, tag: CollectiveTag, mine: Uint8Array<ArrayBuffer>) {
    super(seat, tag)
    this.#mine = mine.slice()
    this.parts = Array.from({ length: seat.worldSize }, () => this.#mine)
  }

  start(): void {
    const { rank, worldSize } = this.seat
    this.expect(worldSize - 1, worldSize - 1)
    this.seat.forward(buildFrame(this.header('all-gather', rank), this.#mine), this.sent)
  }

  accept(frame: Frame): boolean {
    const { rank, worldSize } = this.seat
    const from = frame.chunk
    if (from >= worldSize || from === rank || frame.payload.byteLength !== this.#mine.byteLength || !this.first(frame)) return false
    this.parts[from] = frame.payload.slice()
    if (from !== (rank + 1) % worldSize) this.seat.forward(frame.bytes, this.sent)
    this.received()
    return true
  }
}
