/** Fields of Protocol Buffers messages, as bytes to be put one after the other. */

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5

/** `value` from 0 to 2^53. */
export function intField(field: number, value: number): Uint8Array {
  return concat([varint(tag(field, VARINT)), varint(value)])
}

export function doubleField(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value, true)
  return concat([varint(tag(field, FIXED64)), bytes])
}

export function floatField(field: number, value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setFloat32(0, value, true)
  return concat([varint(tag(field, FIXED32)), bytes])
}

export function textField(field: number, text: string): Uint8Array {
  return messageField(field, [new TextEncoder().encode(text)])
}

export function messageField(field: number, parts: readonly Uint8Array[]): Uint8Array {
  const body = concat(parts)
  return concat([varint(tag(field, LENGTH)), varint(body.length), body])
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

function tag(field: number, wire: number): number {
  return field * 8 + wire
}

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
  return Uint8Array.from(bytes)
}
