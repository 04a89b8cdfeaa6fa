/** A range of a GPU buffer. Owners count references; a pooled range goes back to its pool at zero. */
export class Storage {
  readonly buffer: GPUBuffer
  /** Unique per buffer, for bind-group keys. */
  readonly bufferId: number
  readonly offset: number
  readonly bytes: number
  readonly #onFree: ((storage: Storage) => void) | null
  #references = 1

  constructor(buffer: GPUBuffer, bufferId: number, offset: number, bytes: number, onFree: ((storage: Storage) => void) | null) {
    this.buffer = buffer
    this.bufferId = bufferId
    this.offset = offset
    this.bytes = bytes
    this.#onFree = onFree
  }

  retain(): this {
    this.#references++
    return this
  }

  release(): void {
    if (--this.#references === 0) this.#onFree?.(this)
    if (this.#references < 0) throw new Error('Cannot release storage: it has no owner left')
  }
}
