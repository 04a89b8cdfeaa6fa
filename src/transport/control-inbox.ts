import { decodePiece, MAX_MESSAGE_BYTES, type Piece } from './control-pieces.ts'

export interface ControlInboxPorts {
  message(message: unknown): void
  blob(name: string, bytes: Uint8Array<ArrayBuffer>): void
  progress(name: string, done: number, total: number): void
  /** Tells the sender that a blob is not wanted. */
  refuse(id: number, reason: string): void
  /** The other side does not want a blob of this one. */
  refused(id: number, reason: string): void
}

interface Growing {
  readonly bytes: Uint8Array<ArrayBuffer>
  filled: number
}

/** Puts pieces together again; checks every size before it takes memory, drops and counts what does not fit (J6). */
export class ControlInbox {
  dropped = 0
  readonly #maxBlobBytes: number
  readonly #ports: ControlInboxPorts
  #message: Growing | null = null
  #blob: (Growing & { readonly id: number; readonly name: string }) | null = null

  constructor(maxBlobBytes: number, ports: ControlInboxPorts) {
    this.#maxBlobBytes = maxBlobBytes
    this.#ports = ports
  }

  take(bytes: Uint8Array): void {
    const piece = decodePiece(bytes)
    if (!piece || !this.#use(piece)) this.dropped++
  }

  #use(piece: Piece): boolean {
    switch (piece.type) {
      case 'message':
        return this.#growMessage(piece)
      case 'blob-start':
        return this.#startBlob(piece)
      case 'blob-part':
        return this.#growBlob(piece)
      case 'blob-refused':
        this.#ports.refused(piece.id, piece.reason)
        return true
      default:
        return piece satisfies never
    }
  }

  #growMessage({ total, offset, bytes }: Extract<Piece, { type: 'message' }>): boolean {
    if (offset === 0) this.#message = total <= MAX_MESSAGE_BYTES ? { bytes: new Uint8Array(total), filled: 0 } : null
    const message = this.#message
    if (!message || message.bytes.byteLength !== total || !append(message, bytes, offset)) {
      this.#message = null
      return false
    }
    if (message.filled < total) return true
    this.#message = null
    const parsed = parseJson(message.bytes)
    if (parsed) this.#ports.message(parsed.value)
    return parsed !== null
  }

  #startBlob({ id, total, name }: Extract<Piece, { type: 'blob-start' }>): boolean {
    const unfinished = this.#blob !== null
    this.#blob = null
    if (total > this.#maxBlobBytes) {
      this.#ports.refuse(id, `it has ${total} bytes, the other side takes at most ${this.#maxBlobBytes}`)
      return false
    }
    this.#blob = { id, name, bytes: new Uint8Array(total), filled: 0 }
    this.#finishBlob()
    return !unfinished
  }

  #growBlob({ id, bytes }: Extract<Piece, { type: 'blob-part' }>): boolean {
    const blob = this.#blob
    if (blob?.id !== id || bytes.byteLength === 0 || !append(blob, bytes, blob.filled)) return false
    this.#ports.progress(blob.name, blob.filled, blob.bytes.byteLength)
    this.#finishBlob()
    return true
  }

  #finishBlob(): void {
    const blob = this.#blob
    if (!blob || blob.filled < blob.bytes.byteLength) return
    this.#blob = null
    this.#ports.blob(blob.name, blob.bytes)
  }
}

function append(growing: Growing, bytes: Uint8Array, offset: number): boolean {
  if (offset !== growing.filled || offset + bytes.byteLength > growing.bytes.byteLength) return false
  growing.bytes.set(bytes, offset)
  growing.filled += bytes.byteLength
  return true
}

function parseJson(bytes: Uint8Array): { readonly value: unknown } | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return { value }
  } catch {
    return null // not JSON: dropped and counted
  }
}
