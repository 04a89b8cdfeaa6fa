/** Test-only: reads event files from the published layouts alone; shares nothing with the writer. */

interface ReadValue {
  readonly tag: string
  readonly scalar?: number
  readonly plugin?: string
  readonly text?: string
  readonly dtype?: number
  readonly shape?: readonly number[]
}

interface ReadEvent {
  readonly wallTime: number
  readonly step: number
  readonly fileVersion?: string
  readonly values: readonly ReadValue[]
}

/** @throws when a length or a CRC is wrong, or bytes are left over. */
export function readEvents(bytes: Uint8Array): ReadEvent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const events: ReadEvent[] = []
  let at = 0
  while (at < bytes.length) {
    const length = Number(view.getBigUint64(at, true))
    check(view.getUint32(at + 8, true), bytes.subarray(at, at + 8), `the length at ${at}`)
    const data = bytes.subarray(at + 12, at + 12 + length)
    check(view.getUint32(at + 12 + length, true), data, `the event at ${at}`)
    events.push(eventOf(data))
    at += 16 + length
  }
  return events
}

function check(stored: number, bytes: Uint8Array, what: string): void {
  const rotated = (stored - 0xa282ead8) >>> 0
  const unmasked = ((rotated >>> 17) | (rotated << 15)) >>> 0
  if (unmasked !== bitwiseCrc(bytes)) throw new Error(`the CRC of ${what} is wrong`)
}

/** Bit by bit, most significant first over reversed bits: slow, and another way than a table. */
function bitwiseCrc(bytes: Uint8Array): number {
  let crc = 0xffffffffn
  for (const byte of bytes) for (let bit = 0; bit < 8; bit++) crc = shifted(crc, BigInt((byte >> bit) & 1))
  return Number(reversed(crc ^ 0xffffffffn))
}

function shifted(crc: bigint, bit: bigint): bigint {
  const top = (crc >> 31n) ^ bit
  return ((crc << 1n) & 0xffffffffn) ^ (top ? 0x1edc6f41n : 0n)
}

function reversed(word: bigint): bigint {
  let out = 0n
  for (let bit = 0n; bit < 32n; bit++) out |= ((word >> bit) & 1n) << (31n - bit)
  return out
}

type Field = readonly [field: number, value: number | Uint8Array]

function eventOf(bytes: Uint8Array): ReadEvent {
  const fields = fieldsOf(bytes)
  const version = last(fields, 3)
  const values = fields.filter(([field]) => field === 5).flatMap(([, summary]) => fieldsOf(inner(summary)).map(([, value]) => valueOf(inner(value))))
  return { wallTime: double(last(fields, 1)), step: Number(last(fields, 2) ?? 0), ...(version === undefined ? {} : { fileVersion: text(version) }), values }
}

function valueOf(bytes: Uint8Array): ReadValue {
  const fields = fieldsOf(bytes)
  const tag = text(last(fields, 1))
  const scalar = last(fields, 2)
  if (scalar !== undefined) return { tag, scalar: new DataView(inner(scalar).slice().buffer).getFloat32(0, true) }
  const tensor = fieldsOf(inner(last(fields, 8)))
  const shape = fieldsOf(inner(last(tensor, 2))).map(([, dimension]) => Number(last(fieldsOf(inner(dimension)), 1)))
  const plugin = text(last(fieldsOf(inner(last(fieldsOf(inner(last(fields, 9))), 1))), 1))
  return { tag, plugin, text: text(last(tensor, 8)), dtype: Number(last(tensor, 1)), shape }
}

function fieldsOf(bytes: Uint8Array): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = (): number => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('a number is cut off')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return Number(value)
    }
  }
  while (at < bytes.length) {
    const key = varint()
    const wire = key & 7
    const size = wire === 2 ? varint() : wire === 1 ? 8 : 4
    if (wire === 0) fields.push([key >> 3, varint()])
    else fields.push([key >> 3, bytes.subarray(at, (at += size))])
  }
  if (at !== bytes.length) throw new Error('a field is cut off')
  return fields
}

function last(fields: readonly Field[], wanted: number): number | Uint8Array | undefined {
  return fields.findLast(([field]) => field === wanted)?.[1]
}

function inner(value: number | Uint8Array | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('a field is missing')
  return value
}

function text(value: number | Uint8Array | undefined): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(inner(value))
}

function double(value: number | Uint8Array | undefined): number {
  return new DataView(inner(value).slice().buffer).getFloat64(0, true)
}
