import type { Frame } from '../protocol/frame.ts'

/** A frame without payload takes memory too. */
const OVERHEAD_BYTES = 200

/**
 * Frames of collectives that this rank has not begun: a neighbour may be ahead. In an all-reduce it can be ahead by less than
 * the whole array, since every sum passes through this rank; a broadcast waits until its receiver is ready. The limit is for
 * a neighbour that does not keep to that.
 */
export class Inbox {
  readonly #limitBytes: number
  readonly #frames = new Map<string, Frame[]>()
  #bytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** @returns false when it is full. */
  keep(key: string, frame: Frame): boolean {
    const bytes = frame.bytes.byteLength + OVERHEAD_BYTES
    if (this.#bytes + bytes > this.#limitBytes) return false
    this.#bytes += bytes
    const frames = this.#frames.get(key) ?? []
    frames.push(frame)
    this.#frames.set(key, frames)
    return true
  }

  /** Hands out what was kept. */
  take(key: string): Frame[] {
    const frames = this.#frames.get(key) ?? []
    this.#frames.delete(key)
    for (const frame of frames) this.#bytes -= frame.bytes.byteLength + OVERHEAD_BYTES
    return frames
  }

  clear(): void {
    this.#frames.clear()
    this.#bytes = 0
  }
}
