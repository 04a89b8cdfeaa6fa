import { type Deferred, deferred } from '../base/deferred.ts'
import type { Frame, FrameHeader, FrameKind } from '../protocol/frame.ts'
import type { FrameSource } from './outbox.ts'

/** Which collective of which update: equal on all ranks, so that frames of different ones cannot mix. */
export interface CollectiveTag {
  readonly update: number
  /** Rises within an update; every rank starts them in the same order. */
  readonly collective: number
}

/** What a collective knows of the ring that carries it. */
export interface RingSeat {
  readonly rank: number
  readonly worldSize: number
  readonly generation: number
  /** Room for one frame that is sent before anyone else uses it. */
  readonly scratch: Uint8Array<ArrayBuffer>
  /** Sends bytes that nobody changes any more to the next rank. */
  forward(bytes: Uint8Array<ArrayBuffer>, sent: () => void): void
  /** Sends frames to the next rank as it has room for them. */
  supply(source: FrameSource): void
  /** The source may have something now. */
  poke(): void
  /** A small frame to the previous rank. */
  sendBack(bytes: Uint8Array<ArrayBuffer>): void
}

/** One collective under way: ends when all its frames have come and have left. */
export abstract class Collective {
  readonly done: Promise<void>
  protected readonly seat: RingSeat
  protected readonly tag: CollectiveTag
  /** Frames that are still to come from the previous rank. */
  #toReceive = 0
  /** Frames that are still to leave for the next rank. */
  #toSend = 0
  readonly #done: Deferred<void> = deferred<void>()
  readonly #seen = new Set<string>()

  constructor(seat: RingSeat, tag: CollectiveTag) {
    this.seat = seat
    this.tag = tag
    this.done = this.#done.promise
  }

  abstract start(): void
  /** @returns false when it does not belong here: of a wrong length, number or kind, or come twice. */
  abstract accept(frame: Frame): boolean

  /** Whom it waits for. */
  get waitsFor(): 'previous' | 'next' {
    return this.#toReceive > 0 ? 'previous' : 'next'
  }

  fail(cause: Error): void {
    this.#done.reject(cause)
  }

  protected expect(toReceive: number, toSend: number): void {
    this.#toReceive = toReceive
    this.#toSend = toSend
    this.#settle()
  }

  /** @returns whether this frame is the first of its kind and number. */
  protected first({ kind, chunk }: Frame): boolean {
    const key = `${kind} ${chunk}`
    if (this.#seen.has(key)) return false
    this.#seen.add(key)
    return true
  }

  protected received(): void {
    this.#toReceive--
    this.#settle()
  }

  protected readonly sent = (): void => {
    this.#toSend--
    this.#settle()
  }

  protected header(kind: FrameKind, chunk: number): FrameHeader {
    return { kind, generation: this.seat.generation, ...this.tag, chunk }
  }

  #settle(): void {
    if (this.#toReceive === 0 && this.#toSend === 0) this.#done.resolve()
  }
}
