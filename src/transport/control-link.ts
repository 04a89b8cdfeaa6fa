import { type Deferred, deferred } from '../base/deferred.ts'
import { ControlInbox } from './control-inbox.ts'
import { BLOB_PART_BYTES, encodePiece, LARGEST_BLOB_BYTES, MAX_MESSAGE_BYTES, MESSAGE_PART_BYTES, type Piece } from './control-pieces.ts'
import type { Link } from './link.ts'

/** JSON messages of any size and named blobs between two pages; messages overtake blobs, and each kind keeps its order. */
export interface ControlLink {
  readonly open: boolean
  /** Pieces and messages that made no sense or were too large (J6). */
  readonly dropped: number
  /** Never waits; what the link has no room for is queued. @throws when the link is not open or the message is too large. */
  send(message: unknown): void
  /**
   * Waits for the link to open. Resolves when the last byte has been handed to it; the bytes must not change until then.
   * `onProgress` hears of bytes. Rejects when the link closes or the other side refuses the size.
   */
  sendBlob(name: string, bytes: Uint8Array, onProgress?: (done: number) => void): Promise<void>
  onMessage: ((message: unknown) => void) | null
  onBlob: ((name: string, bytes: Uint8Array<ArrayBuffer>) => void) | null
  onBlobProgress: ((name: string, done: number, total: number) => void) | null
  /** Told once, unless this side closes. */
  onClose: ((cause: Error) => void) | null
  /** Lets queued messages leave, then closes. Blobs under way are given up. */
  close(): void
}

interface Outgoing {
  readonly id: number
  readonly name: string
  readonly bytes: Uint8Array
  readonly onProgress: (done: number) => void
  readonly sent: Deferred<void>
  offset: number
}

/** `maxBlobBytes`: larger ones are refused before any memory is taken. */
export function controlLink(link: Link, { maxBlobBytes }: { readonly maxBlobBytes: number }): ControlLink {
  return new LinkControl(link, maxBlobBytes)
}

class LinkControl implements ControlLink {
  onMessage: ControlLink['onMessage'] = null
  onBlob: ControlLink['onBlob'] = null
  onBlobProgress: ControlLink['onBlobProgress'] = null
  onClose: ControlLink['onClose'] = null
  readonly #link: Link
  readonly #inbox: ControlInbox
  #queue: Piece[] = []
  #blobs: Outgoing[] = []
  #nextBlob = 1
  #running = false
  #closed = false

  constructor(link: Link, maxBlobBytes: number) {
    this.#link = link
    this.#inbox = new ControlInbox(maxBlobBytes, {
      message: (message) => this.onMessage?.(message),
      blob: (name, bytes) => this.onBlob?.(name, bytes),
      progress: (name, done, total) => this.onBlobProgress?.(name, done, total),
      refuse: (id, reason) => this.#enqueue({ type: 'blob-refused', id, reason }),
      refused: (id, reason) => this.#refused(id, reason),
    })
    link.onFrame = (frame) => this.#inbox.take(frame)
    link.onClose = (cause) => {
      this.#end(cause)
      this.onClose?.(cause)
    }
  }

  get open(): boolean {
    return this.#link.open && !this.#closed
  }

  get dropped(): number {
    return this.#inbox.dropped
  }

  send(message: unknown): void {
    if (!this.open) throw new Error(`Cannot send to ${this.#link.name}: the link is not open`)
    const bytes = new TextEncoder().encode(JSON.stringify(message))
    if (bytes.byteLength > MAX_MESSAGE_BYTES) {
      throw new Error(`Cannot send a message to ${this.#link.name}: it has ${bytes.byteLength} bytes, need at most ${MAX_MESSAGE_BYTES}`)
    }
    for (let offset = 0; offset < bytes.byteLength; offset += MESSAGE_PART_BYTES) {
      this.#enqueue({ type: 'message', total: bytes.byteLength, offset, bytes: bytes.subarray(offset, offset + MESSAGE_PART_BYTES) })
    }
  }

  async sendBlob(name: string, bytes: Uint8Array, onProgress: (done: number) => void = () => {}): Promise<void> {
    if (this.#closed) throw new Error(`Cannot send ${name} to ${this.#link.name}: the link is closed`)
    if (bytes.byteLength > LARGEST_BLOB_BYTES) throw new Error(`Cannot send ${name}: it has ${bytes.byteLength} bytes, need at most ${LARGEST_BLOB_BYTES}`)
    const sent = deferred<void>()
    this.#blobs.push({ id: this.#nextBlob++, name, bytes, onProgress, sent, offset: -1 })
    this.#poke()
    await sent.promise
  }

  close(): void {
    if (this.#closed) return
    const queued = this.#queue
    this.#end(new Error('closed on this side'))
    this.#link.onClose = null
    // A page that is being left has no later turn to wait for room in.
    if (this.#link.open) for (const piece of queued) this.#link.send(encodePiece(piece))
    this.#link.close()
  }

  #end(cause: Error): void {
    this.#closed = true
    this.#queue = []
    for (const { name, sent } of this.#blobs) sent.reject(new Error(`Cannot send ${name} to ${this.#link.name}: ${cause.message}`))
    this.#blobs = []
  }

  #refused(id: number, reason: string): void {
    const blob = this.#blobs.find((candidate) => candidate.id === id)
    if (!blob) return
    this.#blobs = this.#blobs.filter((candidate) => candidate !== blob)
    blob.sent.reject(new Error(`Cannot send ${blob.name} to ${this.#link.name}: ${reason}`))
  }

  #enqueue(piece: Piece): void {
    if (this.#closed) return
    this.#queue.push(piece)
    this.#poke()
  }

  #poke(): void {
    if (this.#running || this.#closed) return
    this.#running = true
    this.#pump().catch(() => {}) // the link has closed, which its onClose tells
  }

  async #pump(): Promise<void> {
    try {
      while (this.#queue.length > 0 || this.#blobs.length > 0) {
        await this.#link.drained()
        const piece = this.#queue.shift()
        if (piece) this.#link.send(encodePiece(piece))
        else this.#sendBlobPart()
      }
    } finally {
      this.#running = false
    }
  }

  #sendBlobPart(): void {
    const [blob] = this.#blobs
    if (!blob) return
    const { id, name, bytes } = blob
    if (blob.offset < 0) {
      this.#link.send(encodePiece({ type: 'blob-start', id, total: bytes.byteLength, name }))
      blob.offset = 0
    } else {
      const part = bytes.subarray(blob.offset, blob.offset + BLOB_PART_BYTES)
      this.#link.send(encodePiece({ type: 'blob-part', id, bytes: part }))
      blob.offset += part.byteLength
    }
    blob.onProgress(blob.offset)
    if (blob.offset < bytes.byteLength) return
    this.#blobs.shift()
    blob.sent.resolve()
  }
}
