/**
 * The pieces in which control messages and blobs travel, each one message of a link, little-endian:
 * message u8 kind, u32 total, u32 offset, bytes; blob-start u8 kind, u32 id, u32 total, name; blob-part u8 kind, u32 id, bytes;
 * blob-refused u8 kind, u32 id, reason.
 */
export const MAX_PIECE_BYTES = 65_536
/** The largest message is a list of token ids. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** A blob's size is a u32. */
export const LARGEST_BLOB_BYTES = 2 ** 32 - 1
const MAX_NAME_BYTES = 200
const MESSAGE = 1
const BLOB_START = 2
const BLOB_PART = 3
const BLOB_REFUSED = 4

export const MESSAGE_PART_BYTES = MAX_PIECE_BYTES - 9
export const BLOB_PART_BYTES = MAX_PIECE_BYTES - 5

export type Piece =
  | { readonly type: 'message'; readonly total: number; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: 'blob-start'; readonly id: number; readonly total: number; readonly name: string }
  | { readonly type: 'blob-part'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly type: 'blob-refused'; readonly id: number; readonly reason: string }

export function encodePiece(piece: Piece): Uint8Array<ArrayBuffer> {
  switch (piece.type) {
    case 'message':
      return pack(MESSAGE, [piece.total, piece.offset], piece.bytes)
    case 'blob-start':
      return pack(BLOB_START, [piece.id, piece.total], new TextEncoder().encode(piece.name))
    case 'blob-part':
      return pack(BLOB_PART, [piece.id], piece.bytes)
    case 'blob-refused':
      return pack(BLOB_REFUSED, [piece.id], new TextEncoder().encode(piece.reason))
    default:
      return piece satisfies never
  }
}

/** @returns null for anything else; never throws (J6). */
export function decodePiece(bytes: Uint8Array): Piece | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.byteLength < 5 || bytes.byteLength > MAX_PIECE_BYTES) return null
  const first = view.getUint32(1, true)
  switch (view.getUint8(0)) {
    case MESSAGE:
      if (bytes.byteLength < 9) return null
      return { type: 'message', total: first, offset: view.getUint32(5, true), bytes: bytes.subarray(9) }
    case BLOB_START:
      if (bytes.byteLength < 9 || bytes.byteLength > 9 + MAX_NAME_BYTES) return null
      return { type: 'blob-start', id: first, total: view.getUint32(5, true), name: new TextDecoder().decode(bytes.subarray(9)) }
    case BLOB_PART:
      return { type: 'blob-part', id: first, bytes: bytes.subarray(5) }
    case BLOB_REFUSED:
      return { type: 'blob-refused', id: first, reason: new TextDecoder().decode(bytes.subarray(5, 1_000)) }
    default:
      return null
  }
}

function pack(kind: number, numbers: readonly number[], bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = 1 + numbers.length * 4
  const packed = new Uint8Array(start + bytes.byteLength)
  const view = new DataView(packed.buffer)
  view.setUint8(0, kind)
  for (const [index, number] of numbers.entries()) view.setUint32(1 + index * 4, number, true)
  packed.set(bytes, start)
  return packed
}
