import { expect, it } from 'vitest'
import { type RawTensor, writeSafetensors } from './safetensors.ts'
import { countWeights, readWeights } from './weights.ts'

function file(dtype: RawTensor['dtype'], data: ArrayBufferView, shape = [2]): Uint8Array {
  return writeSafetensors(new Map([['a.weight', { dtype, shape, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }]]))
}

it('reads f32, f16 and bf16', () => {
  const expected = new Map([['a.weight', { shape: [2], values: Float32Array.of(1, -2.5) }]])
  expect(readWeights(file('F32', Float32Array.of(1, -2.5)))).toEqual(expected)
  expect(readWeights(file('F16', Uint16Array.of(0x3c00, 0xc100)))).toEqual(expected)
  expect(readWeights(file('BF16', Uint16Array.of(0x3f80, 0xc020)))).toEqual(expected)
})

it.each([
  [file('F32', Float32Array.of(1, Number.NaN)), 'number 2 of 2 is NaN'],
  [file('F32', Float32Array.of(Number.NEGATIVE_INFINITY, 1)), 'number 1 of 2 is -Infinity'],
  [file('F16', Uint16Array.of(0x3c00, 0x7c00)), 'number 2 of 2 is Infinity'],
])('refuses what is not finite, with its tensor and place', (bytes, is) => {
  expect(() => readWeights(bytes)).toThrow(`Cannot load tensor a.weight: ${is}, need finite numbers`)
})

it('refuses whole numbers', () => {
  expect(() => readWeights(file('I32', Int32Array.of(1, 2)))).toThrow('Cannot read tensor a.weight: its dtype is I32')
})

it.each(['lm_head.weight', 'embed_out.weight'])('counts a tied %s once', (head) => {
  const tensor = { dtype: 'F32', shape: [3, 2], data: new Uint8Array(24) } as const
  const bytes = writeSafetensors(
    new Map([
      [head, tensor],
      ['wte.weight', tensor],
    ]),
  )
  expect(countWeights(bytes, { tie_word_embeddings: true })).toBe(6)
  expect(countWeights(bytes, { tie_word_embeddings: false })).toBe(12)
  expect(countWeights(bytes, { model_type: 'gpt2' })).toBe(6)
  expect(countWeights(bytes, { model_type: 'llama' })).toBe(12)
})
