import { type Dtype, dtypeBytes, isDtype } from './dtypes.ts'
import { findDuplicateKey } from './json-keys.ts'

/** One tensor of a file: row-major, little-endian. */
export interface RawTensor {
  readonly dtype: Dtype
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

export interface SafetensorsFile {
  readonly tensors: Map<string, RawTensor>
  readonly metadata: Readonly<Record<string, string>>
}

/** A header of a model with 100,000 tensors has about 10 MB. */
const MAX_HEADER_BYTES = 32 * 1024 * 1024
const MAX_TENSORS = 100_000
const MAX_DIMENSIONS = 16
/** The header's length, before the header. */
const PREFIX_BYTES = 8
const ALIGNMENT = 8
const METADATA = '__metadata__'

/**
 * Reads https://github.com/huggingface/safetensors: data are views of `bytes`.
 * @throws before anything is trusted: the error names the tensor and the numbers.
 */
export function readSafetensors(bytes: Uint8Array): SafetensorsFile {
  const header = readHeader(bytes)
  const data = bytes.subarray(PREFIX_BYTES + header.length)
  const entries = Object.entries(header.json).filter(([name]) => name !== METADATA)
  if (entries.length > MAX_TENSORS) throw refusal(`it has ${entries.length} tensors`, `at most ${MAX_TENSORS}`)
  const layouts = entries.map(([name, value]) => parseLayout(name, value))
  checkOffsets(layouts, data.length)
  return {
    tensors: new Map(layouts.map(({ name, dtype, shape, begin, end }) => [name, { dtype, shape, data: data.subarray(begin, end) }])),
    metadata: parseMetadata(header.json[METADATA]),
  }
}

/**
 * The bytes of a file as Hugging Face writes it: wider types first, then by name; the header padded to 8 bytes.
 * @throws when data and shape of a tensor differ.
 */
export function writeSafetensors(tensors: ReadonlyMap<string, RawTensor>, metadata: Readonly<Record<string, string>> = { format: 'pt' }): Uint8Array<ArrayBuffer> {
  const sorted = [...tensors].sort(([nameA, a], [nameB, b]) => dtypeBytes(b.dtype) - dtypeBytes(a.dtype) || (nameA < nameB ? -1 : 1))
  const parts = [`${JSON.stringify(METADATA)}:${JSON.stringify(metadata)}`]
  let offset = 0
  for (const [name, { dtype, shape, data }] of sorted) {
    const need = byteLength(name, dtype, shape)
    if (data.length !== need) throw new Error(`Cannot write tensor ${name}: it has ${data.length} bytes, need ${need} for ${dtype} of shape [${shape.join(', ')}]`)
    parts.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [offset, offset + need] })}`)
    offset += need
  }
  const unpadded = new TextEncoder().encode(`{${parts.join(',')}}`)
  const headerBytes = Math.ceil(unpadded.length / ALIGNMENT) * ALIGNMENT
  const file = new Uint8Array(PREFIX_BYTES + headerBytes + offset)
  new DataView(file.buffer).setBigUint64(0, BigInt(headerBytes), true)
  file.fill(0x20, PREFIX_BYTES, PREFIX_BYTES + headerBytes)
  file.set(unpadded, PREFIX_BYTES)
  let at = PREFIX_BYTES + headerBytes
  for (const [, { data }] of sorted) {
    file.set(data, at)
    at += data.length
  }
  return file
}

function readHeader(bytes: Uint8Array): { readonly length: number; readonly json: Readonly<Record<string, unknown>> } {
  if (bytes.length < PREFIX_BYTES) throw refusal(`it has ${bytes.length} bytes`, `at least ${PREFIX_BYTES}`)
  const length = new DataView(bytes.buffer, bytes.byteOffset, PREFIX_BYTES).getBigUint64(0, true)
  if (length > MAX_HEADER_BYTES) throw refusal(`its header has ${length} bytes`, `at most ${MAX_HEADER_BYTES}`)
  const left = bytes.length - PREFIX_BYTES
  if (Number(length) > left) throw refusal(`its header has ${length} bytes`, `at most ${left}, which is what follows`)
  const text = decodeUtf8(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + Number(length)))
  if (!text.startsWith('{')) throw refusal('its header does not start with "{"', 'a JSON object')
  const json = parseJson(text)
  const duplicate = findDuplicateKey(text)
  if (duplicate !== null) throw refusal(`its header has ${JSON.stringify(duplicate)} twice`, 'it once')
  if (!isRecord(json)) throw refusal('its header is no object', 'a JSON object')
  return { length: Number(length), json }
}

interface Layout {
  readonly name: string
  readonly dtype: Dtype
  readonly shape: readonly number[]
  readonly begin: number
  readonly end: number
}

function parseLayout(name: string, value: unknown): Layout {
  const wrong = (is: string, need: string): Error => new Error(`Cannot read tensor ${name}: ${is}, need ${need}`)
  if (!isRecord(value)) throw wrong('its entry is no object', 'dtype, shape and data_offsets')
  const { dtype, shape, data_offsets: offsets } = value
  if (!isDtype(dtype)) throw wrong(`its dtype is ${JSON.stringify(dtype)}`, 'a type of whole bytes such as F32')
  if (!isCounts(shape) || shape.length > MAX_DIMENSIONS) throw wrong(`its shape is ${JSON.stringify(shape)}`, `at most ${MAX_DIMENSIONS} whole numbers from 0`)
  if (!isCounts(offsets)) throw wrong(`its data_offsets are ${JSON.stringify(offsets)}`, 'two whole numbers from 0')
  const [begin, end, ...more] = offsets
  if (begin === undefined || end === undefined || more.length > 0 || begin > end) throw wrong(`its data_offsets are [${offsets.join(', ')}]`, 'a begin and an end')
  const size = byteLength(name, dtype, shape)
  if (end - begin !== size) throw wrong(`its data_offsets span ${end - begin} bytes`, `${size} for ${dtype} of shape [${shape.join(', ')}]`)
  return { name, dtype, shape, begin, end }
}

function byteLength(name: string, dtype: Dtype, shape: readonly number[]): number {
  const bytes = shape.reduce((product, length) => product * length, dtypeBytes(dtype))
  if (!Number.isSafeInteger(bytes)) throw new Error(`Cannot lay out tensor ${name}: its shape [${shape.join(', ')}] has too many elements, need fewer than 2^53 bytes`)
  return bytes
}

/** Tensors fill the data without holes, overlaps or rest. */
function checkOffsets(layouts: readonly Layout[], dataBytes: number): void {
  let expected = 0
  for (const { name, begin, end } of layouts.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== expected) throw new Error(`Cannot read tensor ${name}: it begins at byte ${begin}, need ${expected}, where the one before it ends`)
    if (end > dataBytes) throw new Error(`Cannot read tensor ${name}: it ends at byte ${end}, need at most ${dataBytes}, which is what the file has`)
    expected = end
  }
  if (expected !== dataBytes) throw refusal(`its tensors end at byte ${expected}`, `${dataBytes}, where the file ends`)
}

function parseMetadata(value: unknown): Record<string, string> {
  if (value === undefined) return {}
  if (!isRecord(value)) throw refusal(`its ${METADATA} is no object`, 'an object of strings')
  const texts = Object.entries(value).map(([key, text]) => {
    if (typeof text !== 'string') throw refusal(`its ${METADATA} has ${JSON.stringify(text)} for ${key}`, 'a string')
    return [key, text] as const
  })
  return Object.fromEntries(texts)
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw refusal('its header is not UTF-8', 'a JSON object', cause)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw refusal(`its header is no JSON (${cause instanceof Error ? cause.message : String(cause)})`, 'a JSON object', cause)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((entry) => Number.isSafeInteger(entry) && entry >= 0)
}

function refusal(is: string, need: string, cause?: unknown): Error {
  return new Error(`Cannot read the safetensors file: ${is}, need ${need}`, { cause })
}
