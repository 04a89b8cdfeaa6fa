import type { Link } from '../transport/link.ts'

/** Frames that are built only when the link has room for them. */
export interface FrameSource {
  /** The next frame, valid until the next call; null when there is none for now. */
  take(): Uint8Array<ArrayBuffer> | null
  /** No frame will come any more. */
  readonly finished: boolean
}

interface Forward {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly sent: () => void
}

export interface OutboxListener {
  /** A data frame has left. */
  progress(): void
  broken(cause: Error): void
}

/**
 * Sends on one link, never beyond its window (F4). What other ranks wait for further down the ring goes first, then own
 * frames in the order in which their collectives began.
 */
export class Outbox {
  bytesSent = 0
  /** Time in which there was something to send, in milliseconds. */
  sendingMs = 0
  readonly link: Link
  readonly #listener: OutboxListener
  #forwards: Forward[] = []
  #sources: FrameSource[] = []
  readonly #stop = new AbortController()
  #running = false

  constructor(link: Link, listener: OutboxListener) {
    this.link = link
    this.#listener = listener
  }

  /** Sends bytes that nobody changes any more. */
  forward(bytes: Uint8Array<ArrayBuffer>, sent: () => void): void {
    this.#forwards.push({ bytes, sent })
    this.poke()
  }

  supply(source: FrameSource): void {
    this.#sources.push(source)
    this.poke()
  }

  /** A source may have something now. */
  poke(): void {
    if (this.#running || this.#stop.signal.aborted) return
    this.#running = true
    this.#pump().catch((cause: unknown) => {
      if (!this.#stop.signal.aborted) this.#listener.broken(cause instanceof Error ? cause : new Error(String(cause)))
    })
  }

  /** Small frames that must not wait behind data; false when the link does not take it. */
  urgent(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (!this.link.open) return false
    try {
      this.link.send(bytes)
    } catch {
      return false // it has just closed, which its own handler tells
    }
    this.bytesSent += bytes.byteLength
    return true
  }

  stop(): void {
    this.#stop.abort(new Error('stopped'))
    this.#forwards = []
    this.#sources = []
  }

  async #pump(): Promise<void> {
    const startedAt = performance.now()
    try {
      while (this.#forwards.length > 0 || this.#sources.length > 0) {
        await this.link.drained(this.#stop.signal)
        const forward = this.#forwards.shift()
        const bytes = forward?.bytes ?? this.#take()
        if (!bytes) return
        this.link.send(bytes)
        this.bytesSent += bytes.byteLength
        this.#listener.progress()
        forward?.sent()
      }
    } finally {
      // In the same turn as the last look: a later poke must start anew.
      this.#running = false
      this.sendingMs += performance.now() - startedAt
    }
  }

  #take(): Uint8Array<ArrayBuffer> | null {
    for (const source of this.#sources) {
      const bytes = source.take()
      if (source.finished) this.#sources = this.#sources.filter((other) => other !== source)
      if (bytes) return bytes
    }
    return null
  }
}
