import { type Deferred, deferred } from '../base/deferred.ts'
import type { Link } from './link.ts'

/** F4: no link has more than this in its buffer; more makes a cold one lose bursts and delays what comes after. */
export const HIGH_WATER_BYTES = 131_072
/** A full buffer is filled again from here. */
export const LOW_WATER_BYTES = 32_768
/** `drained` means: one more frame of 64 KiB keeps to the high-water mark. */
export const ROOM_BYTES = HIGH_WATER_BYTES - 65_536

/**
 * What every body of a link shares: frames that come early are kept, a close is told once, also to one who asks later,
 * and waiting for room ends when there is some, on close, or on abort. A body calls `deliver`, `wake` and `ended`.
 */
export abstract class LinkBase implements Link {
  readonly name: string
  #onFrame: Link['onFrame'] = null
  #kept: Uint8Array<ArrayBuffer>[] = []
  #onClose: Link['onClose'] = null
  #closed: Error | null = null
  readonly #waiting = new Set<Deferred<void>>()

  constructor(name: string) {
    this.name = name
  }

  abstract get open(): boolean
  protected abstract transmit(frame: Uint8Array): void
  /** Whether it is open and has room for one more frame. */
  protected abstract roomy(): boolean
  protected abstract shut(cause: string): void

  get onFrame(): Link['onFrame'] {
    return this.#onFrame
  }

  set onFrame(receive: Link['onFrame']) {
    this.#onFrame = receive
    while (this.#onFrame && this.#kept.length > 0) {
      const frames = this.#kept
      this.#kept = []
      for (const frame of frames) this.deliver(frame)
    }
  }

  get onClose(): Link['onClose'] {
    return this.#onClose
  }

  set onClose(listener: Link['onClose']) {
    this.#onClose = listener
    if (listener && this.#closed) queueMicrotask(() => this.#tell())
  }

  send(frame: Uint8Array): void {
    if (this.#closed) throw new Error(`Cannot send to ${this.name}: ${this.#closed.message}`)
    if (!this.open) throw new Error(`Cannot send to ${this.name}: the link is not open`)
    this.transmit(frame)
  }

  async drained(signal?: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed
    signal?.throwIfAborted()
    if (this.roomy()) return
    const waiter = deferred<void>()
    const abort = () => waiter.reject(signal?.reason instanceof Error ? signal.reason : new Error(String(signal?.reason)))
    signal?.addEventListener('abort', abort, { once: true })
    this.#waiting.add(waiter)
    try {
      await waiter.promise
    } finally {
      this.#waiting.delete(waiter)
      signal?.removeEventListener('abort', abort)
    }
  }

  close(cause = 'closed on this side'): void {
    if (this.#closed) return
    this.shut(cause)
    this.ended(cause)
  }

  protected deliver(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#onFrame) this.#onFrame(frame)
    else if (!this.#closed) this.#kept.push(frame)
  }

  /** There may be room now. */
  protected wake(): void {
    if (this.#waiting.size > 0 && this.roomy()) for (const waiter of this.#waiting) waiter.resolve()
  }

  /** Only the first call counts. */
  protected ended(cause: string): void {
    if (this.#closed) return
    this.#closed = new Error(cause)
    for (const waiter of this.#waiting) waiter.reject(this.#closed)
    this.#tell()
  }

  #tell(): void {
    const listener = this.#onClose
    if (!listener || !this.#closed) return
    this.#onClose = null
    listener(this.#closed)
  }
}
