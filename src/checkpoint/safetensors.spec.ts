import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Dtype, dtypeBytes, isDtype } from './dtypes.ts'
import { floatTensor, floatValues } from './float-tensors.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'

const golden = async (name: string): Promise<Uint8Array> => new Uint8Array(await readFile(new URL(`../../e2e/fixtures/golden/gpt2/${name}.safetensors`, import.meta.url)))

/** A file with any header text; `length` overrides the true length of the header. */
function file(header: string, dataBytes = 0, length?: bigint): Uint8Array {
  const text = new TextEncoder().encode(header)
  const bytes = new Uint8Array(8 + text.length + dataBytes)
  new DataView(bytes.buffer).setBigUint64(0, length ?? BigInt(text.length), true)
  bytes.set(text, 8)
  return bytes
}

const DTYPES = ['F64', 'I64', 'U64', 'F32', 'I32', 'U32', 'F16', 'BF16', 'I16', 'U16', 'F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'BOOL'] as const

const anyTensor = fc.tuple(fc.constantFrom(...DTYPES), fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 })).map(([dtype, shape]): RawTensor => {
  const bytes = shape.reduce((product, length) => product * length, dtypeBytes(dtype))
  return { dtype, shape, data: Uint8Array.from({ length: bytes }, (_, index) => (index * 37 + shape.length) % 256) }
})
const anyTensors = fc
  .array(
    fc.tuple(
      fc.string({ unit: 'grapheme' }).filter((name) => name !== '__metadata__'),
      anyTensor,
    ),
    { maxLength: 6 },
  )
  .map((entries) => new Map(entries))

describe('a file of Hugging Face', () => {
  it.each(['model', 'grads', 'logits'])('%s is read and written again byte for byte', async (name) => {
    const bytes = await golden(name)
    const { tensors, metadata } = readSafetensors(bytes)
    expect(tensors.size).toBeGreaterThan(0)
    if (Object.keys(metadata).length > 0) expect(Buffer.compare(writeSafetensors(tensors, metadata), bytes)).toBe(0)
    const again = readSafetensors(writeSafetensors(tensors))
    for (const [key, { data, dtype, shape }] of tensors) {
      const copy = again.tensors.get(key)
      expect([copy?.dtype, copy?.shape]).toEqual([dtype, shape])
      expect(Buffer.compare(copy?.data ?? new Uint8Array(), data)).toBe(0)
    }
  })

  it('has its tensors by name, with their metadata', async () => {
    const { tensors, metadata } = readSafetensors(await golden('model'))
    expect(metadata).toEqual({ format: 'pt' })
    expect(tensors.size).toBe(28)
    const embedding = tensors.get('transformer.wte.weight')
    expect(embedding?.shape).toEqual([80, 32])
    expect(embedding && floatValues('wte', embedding)).toHaveLength(80 * 32)
  })
})

describe('writeSafetensors', () => {
  it('writes what readSafetensors reads', () => {
    fc.assert(
      fc.property(anyTensors, fc.dictionary(fc.string(), fc.string()), (tensors, metadata) => {
        const again = readSafetensors(writeSafetensors(tensors, metadata))
        expect(again.metadata).toEqual({ ...metadata })
        expect([...again.tensors].sort()).toEqual([...tensors].sort())
      }),
    )
  })

  it('aligns the data to eight bytes', () => {
    for (let length = 1; length < 12; length++) {
      const bytes = writeSafetensors(new Map([['x'.repeat(length), floatTensor(Float32Array.of(1), [1])]]))
      expect(Number(new DataView(bytes.buffer).getBigUint64(0, true)) % 8).toBe(0)
    }
  })

  it('refuses data that do not fill the shape', () => {
    expect(() => writeSafetensors(new Map([['w', floatTensor(new Float32Array(5), [2, 3])]]))).toThrow('Cannot write tensor w: it has 20 bytes, need 24 for F32 of shape [2, 3]')
  })
})

const entry = (dtype: string, shape: unknown, offsets: unknown): string => JSON.stringify({ dtype, shape, data_offsets: offsets })

describe('readSafetensors refuses', () => {
  it.each([
    ['an empty file', new Uint8Array(), 'it has 0 bytes, need at least 8'],
    ['a header of 2^60 bytes', file('{}', 0, 2n ** 60n), 'its header has 1152921504606846976 bytes, need at most 33554432'],
    ['a header longer than the file', file('{}', 0, 100n), 'its header has 100 bytes, need at most 2, which is what follows'],
    ['a header that is no JSON', file('{oops}'), 'its header is no JSON'],
    ['a header that is a list', file('[1]'), 'its header does not start with "{", need a JSON object'],
    ['a header that is not UTF-8', file('{"\u00e9":1}').map((byte) => (byte === 0xc3 ? 0xff : byte)), 'its header is not UTF-8'],
    ['a tensor that is there twice', file(`{"w":${entry('U8', [1], [0, 1])},"\\u0077":${entry('U8', [1], [0, 1])}}`, 1), 'its header has "w" twice, need it once'],
    ['a key of an entry that is there twice', file('{"w":{"dtype":"U8","shape":[1],"shape":[2],"data_offsets":[0,1]}}', 1), 'its header has "shape" twice, need it once'],
    ['metadata that are no strings', file('{"__metadata__":{"a":1}}'), 'its __metadata__ has 1 for a, need a string'],
    ['an entry that is no object', file('{"w":5}'), 'Cannot read tensor w: its entry is no object'],
    ['an unknown dtype', file(`{"w":${entry('F4', [2], [0, 1])}}`, 1), 'Cannot read tensor w: its dtype is "F4", need'],
    ['a dtype from the prototype', file(`{"w":${entry('toString', [2], [0, 1])}}`, 1), 'Cannot read tensor w: its dtype is "toString", need'],
    ['a negative length', file(`{"w":${entry('U8', [-1], [0, 1])}}`, 1), 'Cannot read tensor w: its shape is [-1], need'],
    ['a fractional length', file(`{"w":${entry('U8', [1.5], [0, 1])}}`, 1), 'Cannot read tensor w: its shape is [1.5], need'],
    ['too many dimensions', file(`{"w":${entry('U8', new Array(17).fill(1), [0, 1])}}`, 1), 'Cannot read tensor w: its shape is'],
    ['a shape that overflows', file(`{"w":${entry('F32', [2 ** 40, 2 ** 40], [0, 4])}}`, 4), 'its shape [1099511627776, 1099511627776] has too many elements'],
    [
      'a shape of other size than its data',
      file(`{"w":${entry('F32', [2, 3], [0, 20])}}`, 20),
      'Cannot read tensor w: its data_offsets span 20 bytes, need 24 for F32 of shape [2, 3]',
    ],
    ['offsets that run backwards', file(`{"w":${entry('U8', [1], [1, 0])}}`, 1), 'Cannot read tensor w: its data_offsets are [1, 0], need a begin and an end'],
    ['three offsets', file(`{"w":${entry('U8', [1], [0, 1, 2])}}`, 1), 'Cannot read tensor w: its data_offsets are [0, 1, 2]'],
    ['data beyond the file', file(`{"w":${entry('U8', [9], [0, 9])}}`, 5), 'Cannot read tensor w: it ends at byte 9, need at most 5'],
    ['overlapping tensors', file(`{"a":${entry('U8', [4], [0, 4])},"b":${entry('U8', [4], [2, 6])}}`, 6), 'Cannot read tensor b: it begins at byte 2, need 4'],
    ['a hole between tensors', file(`{"a":${entry('U8', [2], [0, 2])},"b":${entry('U8', [2], [4, 6])}}`, 6), 'Cannot read tensor b: it begins at byte 4, need 2'],
    ['bytes behind the last tensor', file(`{"a":${entry('U8', [2], [0, 2])}}`, 3), 'its tensors end at byte 2, need 3, where the file ends'],
  ])('%s', (_, bytes, message) => {
    expect(() => readSafetensors(bytes)).toThrow(message)
  })

  it('any damaged file with a sentence, or reads it', async () => {
    const model = (await golden('model')).slice(0, 4_000)
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 2_700 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }), fc.nat({ max: 4_000 }), (changes, length) => {
        const bytes = model.slice(0, length)
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
        expect(() => readSafetensors(bytes)).toThrow(/^Cannot (read|lay out) /)
      }),
      { numRuns: 300 },
    )
  })

  it('any changed entry of a small file with a sentence, or reads tensors inside it', () => {
    const words = fc.constantFrom(
      '"w"',
      '"v"',
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '0',
      '1',
      '4',
      '-1',
      '1e9',
      '"F32"',
      '"U8"',
      '"dtype"',
      '"shape"',
      '"data_offsets"',
      '"__metadata__"',
      'null',
      '"\\""',
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), fc.nat({ max: 8 }), (tokens, dataBytes) => {
        try {
          for (const { data } of readSafetensors(file(`{${tokens.join('')}`, dataBytes)).tensors.values()) expect(data.length).toBeLessThanOrEqual(dataBytes)
        } catch (cause) {
          expect(String(cause)).toMatch(/^Error: Cannot /)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('floatValues', () => {
  const of = (dtype: Dtype, data: Uint8Array): number[] => [...floatValues('w', { dtype, shape: [], data })]
  const bytesOf = (array: Uint16Array | Float64Array | Float32Array): Uint8Array => new Uint8Array(array.buffer)

  it('widens the types that models come in', () => {
    expect(of('F32', bytesOf(Float32Array.of(1.5, -0)))).toEqual([1.5, -0])
    expect(of('F64', bytesOf(Float64Array.of(0.1)))).toEqual([Math.fround(0.1)])
    expect(of('BF16', bytesOf(Uint16Array.of(0x3fc0, 0x7f80, 0xff80, 0x8000)))).toEqual([1.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0])
    expect(of('F16', bytesOf(Uint16Array.of(0x3e00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x7e00)))).toEqual([1.5, -2, 2 ** -24, 65504, Number.POSITIVE_INFINITY, Number.NaN])
  })

  it('reads data at any place of a file', () => {
    const bytes = new Uint8Array(9)
    bytes.set(bytesOf(Float32Array.of(1, 2)), 1)
    expect(of('F32', bytes.subarray(1))).toEqual([1, 2])
  })

  it('refuses integers', () => {
    expect(() => of('I64', new Uint8Array(8))).toThrow('Cannot read tensor w: its dtype is I64, need F32, F16, BF16 or F64')
    expect(isDtype('I64')).toBe(true)
  })
})
