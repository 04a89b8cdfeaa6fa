import type { Link } from './link.ts'
import { LinkBase, ROOM_BYTES } from './link-base.ts'

/** One end of a link within one process, with the faults that tests need. */
export interface LoopbackLink extends Link {
  /** Both ends close at once; frames on the way are lost. */
  cut(cause?: string): void
  /** From now on nothing that this end sends arrives, and nobody is told: a frozen tab. */
  freeze(): void
  /** Gives the other end these bytes as if this end had sent them. */
  inject(bytes: Uint8Array): void
  /** Most bytes that were ever on the way from this end. */
  readonly peakBytes: number
}

/** Two ends of one link; frames arrive in a later turn, never inside `send`. */
export function loopbackPair(names: readonly [string, string] = ['left', 'right']): [LoopbackLink, LoopbackLink] {
  // A link is named after whoever is at the other end.
  const left = new LoopbackEnd(names[1])
  const right = new LoopbackEnd(names[0])
  left.other = right
  right.other = left
  return [left, right]
}

class LoopbackEnd extends LinkBase implements LoopbackLink {
  other: LoopbackEnd | null = null
  peakBytes = 0
  #open = true
  #frozen = false
  #onTheWay: Uint8Array<ArrayBuffer>[] = []
  #bytes = 0
  #scheduled = false

  get open(): boolean {
    return this.#open
  }

  cut(cause = 'the link was cut'): void {
    const { other } = this
    this.#fall(cause)
    if (other) other.#fall(cause)
  }

  freeze(): void {
    this.#frozen = true
  }

  inject(bytes: Uint8Array): void {
    this.transmit(bytes)
  }

  protected transmit(frame: Uint8Array): void {
    if (this.#frozen) return
    this.#onTheWay.push(new Uint8Array(frame))
    this.#bytes += frame.byteLength
    this.peakBytes = Math.max(this.peakBytes, this.#bytes)
    this.#schedule()
  }

  protected roomy(): boolean {
    return this.#open && this.#bytes <= ROOM_BYTES
  }

  /** What was sent before the close still arrives, as on a data channel. */
  protected shut(cause: string): void {
    this.#open = false
    const { other } = this
    queueMicrotask(() => {
      this.#flush()
      if (other) other.#fall(`closed by the other side: ${cause}`)
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#flush()
      this.wake()
    })
  }

  #flush(): void {
    const frames = this.#onTheWay
    this.#onTheWay = []
    this.#bytes = 0
    const { other } = this
    for (const frame of frames) if (other && other.#open) other.deliver(frame)
  }

  #fall(cause: string): void {
    this.#open = false
    this.#onTheWay = []
    this.ended(cause)
  }
}
