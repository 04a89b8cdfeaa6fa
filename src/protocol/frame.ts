/**
 * The header of every frame between two ranks (F1), little-endian:
 * magic u16, version u8, kind u8, generation u32, update u32, collective u32, chunk u32, length u32.
 */
export const HEADER_BYTES = 24
/** F3: Safari takes messages up to 64 KiB. */
export const MAX_FRAME_BYTES = 65_536
export const MAX_PAYLOAD_BYTES = MAX_FRAME_BYTES - HEADER_BYTES

const MAGIC = 0x7ab1
const VERSION = 1

/** On the wire a kind is its place in this list: append only. */
const KINDS = ['reduce', 'gather', 'all-gather', 'broadcast', 'ready', 'alive', 'probe', 'abort'] as const

/**
 * reduce, gather: the two halves of an all-reduce. ready: this end has begun a broadcast and may be sent to.
 * alive, probe: heartbeat. abort: the ring is given up; the payload says why (UTF-8).
 */
export type FrameKind = (typeof KINDS)[number]

export interface FrameHeader {
  readonly kind: FrameKind
  readonly generation: number
  readonly update: number
  readonly collective: number
  /** Number of this part within the collective. */
  readonly chunk: number
}

export interface Frame extends FrameHeader {
  /** Header and payload, as they came. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** A view of `bytes`. */
  readonly payload: Uint8Array<ArrayBuffer>
}

/** Writes the header into the first 24 bytes. Numbers are taken modulo 2^32. */
export function writeHeader(into: Uint8Array<ArrayBuffer>, header: FrameHeader, payloadBytes: number): void {
  const view = new DataView(into.buffer, into.byteOffset, HEADER_BYTES)
  view.setUint16(0, MAGIC, true)
  view.setUint8(2, VERSION)
  view.setUint8(3, KINDS.indexOf(header.kind))
  view.setUint32(4, header.generation, true)
  view.setUint32(8, header.update, true)
  view.setUint32(12, header.collective, true)
  view.setUint32(16, header.chunk, true)
  view.setUint32(20, payloadBytes, true)
}

export function buildFrame(header: FrameHeader, payload: Uint8Array = new Uint8Array(0)): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES + payload.byteLength)
  writeHeader(bytes, header, payload.byteLength)
  bytes.set(payload, HEADER_BYTES)
  return bytes
}

/** Turns a frame into one of another kind where it lies, so that a sum is sent on without a copy. */
export function relabel(bytes: Uint8Array<ArrayBuffer>, kind: FrameKind): void {
  bytes[3] = KINDS.indexOf(kind)
}

/** @returns null for anything that is not a whole frame of this version; never throws (J6). */
export function parseFrame(bytes: Uint8Array<ArrayBuffer>): Frame | null {
  if (bytes.byteLength < HEADER_BYTES || bytes.byteLength > MAX_FRAME_BYTES) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES)
  const kind = KINDS[view.getUint8(3)]
  if (view.getUint16(0, true) !== MAGIC || view.getUint8(2) !== VERSION || kind === undefined) return null
  if (view.getUint32(20, true) !== bytes.byteLength - HEADER_BYTES) return null
  return {
    kind,
    generation: view.getUint32(4, true),
    update: view.getUint32(8, true),
    collective: view.getUint32(12, true),
    chunk: view.getUint32(16, true),
    bytes,
    payload: bytes.subarray(HEADER_BYTES),
  }
}
