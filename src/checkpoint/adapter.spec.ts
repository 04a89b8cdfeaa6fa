import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseOptions } from '../protocol/options.ts'
import { type AdapterConfig, adapterConfigJson, adapterOptions, parseAdapterConfig } from './adapter-config.ts'
import { joinAdapter, readAdapter, writeAdapter } from './adapter-weights.ts'
import { encodeFloats, exactValues, floatTensor } from './float-tensors.ts'
import { mergeAdapter } from './merge-adapter.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'
import { readWeights } from './weights.ts'

const GOLDEN = 'e2e/fixtures/golden'
const CONFIG = { rank: 4, alpha: 8, rankStabilised: false }

function json(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
}

/** What PEFT writes, read back. */
const WRITTEN = adapterConfigJson({ options: parseOptions({ use_peft: true, lora_r: 4, lora_alpha: 8 }), modules: ['a.q_proj', 'b.q_proj'], baseModel: 'base', modelType: 'llama' })

describe('adapter_config.json', () => {
  test('what is written is read back, as options too', () => {
    const rank = fc.integer({ min: 1, max: 512 })
    const alpha = fc.integer({ min: 1, max: 512 })
    const dropout = fc.integer({ min: 0, max: 99 }).map((percent) => percent / 100)
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]\w{0,8}$/), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(rank, alpha, dropout, fc.boolean(), names, (lora_r, lora_alpha, lora_dropout, use_rslora, targets) => {
        const options = parseOptions({ use_peft: true, lora_r, lora_alpha, lora_dropout, use_rslora, lora_target_modules: targets.join(', ') })
        const read = parseAdapterConfig(JSON.parse(JSON.stringify(adapterConfigJson({ options, modules: [], baseModel: 'models/base', modelType: 'gpt2' }))))
        expect(read).toEqual({ rank: lora_r, alpha: lora_alpha, dropout: lora_dropout, rankStabilised: use_rslora, targets, baseModel: 'models/base' })
        expect(parseOptions({ ...adapterOptions(read, []), lora_target_modules: options.lora_target_modules })).toEqual(options)
      }),
    )
  })

  test('all-linear is written as the names of what is adapted', () => {
    const options = parseOptions({ use_peft: true, lora_target_modules: 'all-linear' })
    const modules = ['transformer.h.0.attn.c_attn', 'transformer.h.0.attn.c_proj', 'transformer.h.0.mlp.c_fc', 'transformer.h.1.mlp.c_proj']
    expect(adapterConfigJson({ options, modules, baseModel: null, modelType: 'gpt2' })).toMatchObject({ target_modules: ['c_attn', 'c_fc', 'c_proj'], fan_in_fan_out: true })
  })

  test.each([
    [{ use_dora: true }, 'use_dora is true, need null, false or nothing in it: it is not computed here'],
    [{ rank_pattern: { q_proj: 8 } }, 'rank_pattern is {"q_proj":8}, need null, false or nothing'],
    [{ alpha_pattern: { q_proj: 8 } }, 'alpha_pattern is {"q_proj":8}, need'],
    [{ modules_to_save: ['lm_head'] }, 'modules_to_save is ["lm_head"], need'],
    [{ layers_to_transform: [0] }, 'layers_to_transform is [0], need'],
    [{ a_new_way: 'of tomorrow' }, 'a_new_way is "of tomorrow", need'],
    [{ bias: 'all' }, 'bias is "all", need "none"'],
    [{ peft_type: 'IA3' }, 'peft_type is "IA3", need "LORA"'],
    [{ init_lora_weights: 'pissa' }, 'init_lora_weights is "pissa", need true, false, "gaussian"'],
    [{ r: 0 }, 'r is 0, need a whole number from 1'],
    [{ target_modules: [] }, 'target_modules is [], need names of modules'],
  ])('%j is refused by name', (change, sentence) => {
    expect(() => parseAdapterConfig({ ...WRITTEN, ...change })).toThrow(`Cannot use this adapter: ${sentence}`)
  })

  test('older files lack keys; a regular expression stands for names', () => {
    const old = { base_model_name_or_path: 'gpt2', bias: 'none', peft_type: 'LORA', r: 8, lora_alpha: 16, target_modules: '.*c_attn' }
    expect(parseAdapterConfig(old)).toEqual({ rank: 8, alpha: 16, dropout: 0, rankStabilised: false, targets: null, baseModel: 'gpt2' } satisfies AdapterConfig)
  })
})

/** A weight, and both halves of its adapter, of small random numbers. */
const layer = fc
  .record({ outputs: fc.integer({ min: 1, max: 5 }), inputs: fc.integer({ min: 1, max: 5 }), rank: fc.integer({ min: 1, max: 3 }) })
  .chain(({ outputs, inputs, rank }) => {
    const tensor = (rows: number, columns: number) =>
      fc.array(fc.float({ min: -4, max: 4, noNaN: true }), { minLength: rows * columns, maxLength: rows * columns }).map((values) => ({ shape: [rows, columns], values }))
    return fc.record({ rank: fc.constant(rank), weight: tensor(outputs, inputs), a: tensor(rank, inputs), b: tensor(outputs, rank) })
  })

const raw = ({ shape, values }: { readonly shape: number[]; readonly values: number[] }): RawTensor => floatTensor(Float32Array.from(values), shape)

describe('adapter_model.safetensors', () => {
  test("a rank's tensors are written under PEFT's names and read back", () => {
    fc.assert(
      fc.property(layer, ({ rank, a, b }) => {
        const tensors = new Map([
          ['model.x.lora_A.weight', raw(a)],
          ['model.x.lora_B.weight', raw(b)],
        ])
        const { file, modules } = writeAdapter(writeSafetensors(tensors))
        expect(modules).toEqual(['model.x'])
        expect([...readSafetensors(file).tensors.keys()].sort()).toEqual(['base_model.model.model.x.lora_A.weight', 'base_model.model.model.x.lora_B.weight'])
        const joined = readWeights(joinAdapter(writeSafetensors(new Map([['w', raw(a)]])), readAdapter(file, { rank })))
        expect(joined.get('model.x.lora_B.weight')?.values).toEqual(Float32Array.from(b.values))
        expect([...joined.keys()].sort()).toEqual(['model.x.lora_A.weight', 'model.x.lora_B.weight', 'w'])
      }),
    )
  })

  test('what is no adapter of linear layers is refused with its tensor', () => {
    const read = (tensors: Record<string, RawTensor>) => () => readAdapter(writeSafetensors(new Map(Object.entries(tensors))), { rank: 2 })
    const a = floatTensor(new Float32Array(6), [2, 3])
    const at = 'base_model.model.model.layers.0.self_attn.q_proj'
    expect(read({})).toThrow('Cannot read the adapter: it has no tensors')
    expect(read({ [`${at}.lora_magnitude_vector.weight`]: a })).toThrow(`Cannot read the adapter: it has tensor ${at}.lora_magnitude_vector.weight, need names such as`)
    expect(read({ [`${at}.lora_A.weight`]: a })).toThrow(`Cannot read the adapter: ${at}.lora_B.weight is missing, need both halves of each module`)
    expect(read({ [`${at}.lora_B.weight`]: a })).toThrow(`Cannot read adapter tensor ${at}.lora_B.weight: its shape is [2, 3], need [outputs, 2], because r is 2`)
    expect(read({ [`${at}.lora_A.weight`]: floatTensor(new Float32Array(6).fill(Number.NaN, 4), [2, 3]) })).toThrow(
      `${at}.lora_A.weight: number 5 of 6 is NaN, need finite numbers`,
    )
  })
})

describe('merging', () => {
  test("the golden adapter into its model: W + 2 B A, within the rounding of PEFT's own", () => {
    const { tensors } = readSafetensors(readFileSync(`${GOLDEN}/lora/lora_weights.safetensors`))
    const adapter = readAdapter(writeAdapter(writeSafetensors(tensors)).file, CONFIG)
    const file = readFileSync(`${GOLDEN}/trainer/model/model.safetensors`)
    const merged = readWeights(mergeAdapter(file, adapter, { config: CONFIG, model: json(`${GOLDEN}/trainer/model/config.json`) }))
    const adapted = new Map(adapter.map((module) => [`${module.name}.weight`, module]))
    expect(adapted.size).toBe(8)
    const allowed = Number(json(`${GOLDEN}/lora/lora.json`)['merge_max_abs_diff'])
    for (const [name, { shape, values }] of readWeights(file)) {
      const module = adapted.get(name)
      const [, inputs = 0] = shape
      const [a, b] = module ? [exactValues(name, module.a), exactValues(name, module.b)] : []
      const worst = values.reduce((most, value, index) => {
        const [out, column] = [Math.floor(index / inputs), index % inputs]
        const delta = a && b ? [0, 1, 2, 3].reduce((sum, r) => sum + 2 * (b[out * 4 + r] ?? 0) * (a[r * inputs + column] ?? 0), 0) : 0
        return Math.max(most, Math.abs(value + delta - (merged.get(name)?.values[index] ?? Number.NaN)))
      }, 0)
      expect(worst, name).toBeLessThanOrEqual(module ? allowed : 0)
    }
  })

  test('any type is kept and rounded once; Conv1D weights are transposed; files without the first part of names too', () => {
    fc.assert(
      fc.property(layer, fc.constantFrom('F32', 'F64', 'F16', 'BF16'), fc.boolean(), ({ rank, weight, a, b }, dtype, conv) => {
        const [outputs = 0, inputs = 0] = weight.shape
        const place = (out: number, column: number) => (conv ? column * outputs + out : out * inputs + column)
        const laid = Float64Array.from(weight.values)
        for (let out = 0; out < outputs; out++) for (let column = 0; column < inputs; column++) laid[place(out, column)] = weight.values[out * inputs + column] ?? 0
        const stored: RawTensor = { dtype, shape: conv ? [inputs, outputs] : weight.shape, data: encodeFloats('w', dtype, laid) }
        const other: RawTensor = { dtype: 'I64', shape: [1], data: new Uint8Array(8).fill(7) }
        const file = writeSafetensors(
          new Map([
            [conv ? 'h.0.w.weight' : 'model.w.weight', stored],
            ['other', other],
          ]),
        )
        const module = { name: conv ? 'transformer.h.0.w' : 'model.w', a: raw(a), b: raw(b) }
        const config = { rank, alpha: 3, rankStabilised: true }
        const { tensors } = readSafetensors(mergeAdapter(file, [module], { config, model: { model_type: conv ? 'gpt2' : 'llama' } }))
        expect(tensors.get('other')).toEqual(other)
        const merged = tensors.get(conv ? 'h.0.w.weight' : 'model.w.weight')
        expect(merged?.dtype).toBe(dtype)
        const base = exactValues('w', stored)
        const expected = Float64Array.from(base)
        for (let out = 0; out < outputs; out++) {
          for (let column = 0; column < inputs; column++) {
            let delta = 0
            for (let r = 0; r < rank; r++) delta += (3 / Math.sqrt(rank)) * (b.values[out * rank + r] ?? 0) * (a.values[r * inputs + column] ?? 0)
            expected[place(out, column)] = (base[place(out, column)] ?? 0) + delta
          }
        }
        const got = merged ? exactValues('w', merged) : new Float64Array()
        const step = { F32: 2 ** -24, F64: 2 ** -53, F16: 2 ** -11, BF16: 2 ** -8 }[dtype]
        for (const [index, value] of expected.entries()) expect(Math.abs((got[index] ?? Number.NaN) - value)).toBeLessThanOrEqual(Math.abs(value) * step * 1.01 + 1e-7)
      }),
    )
  })

  test('rounding to 16 bits is to the nearest, halves to even, up to infinity and down to subnormal numbers', () => {
    const through = (dtype: 'F16' | 'BF16', ...values: number[]) => [
      ...exactValues('w', { dtype, shape: [values.length], data: encodeFloats('w', dtype, Float64Array.from(values)) }),
    ]
    expect(through('F16', 1, -0.5, 2049, 2051, 65504, 65520, -1e9, 2 ** -24, 2 ** -25, 3 * 2 ** -25, -0)).toEqual([
      1,
      -0.5,
      2048,
      2052,
      65504,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      2 ** -24,
      0,
      2 ** -23,
      -0,
    ])
    expect(through('BF16', 1, 257, 259, -3e38, 4e38, Number.POSITIVE_INFINITY)).toEqual(
      [1, 256, 260, -226 * 2 ** 120, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY].map(Math.fround),
    )
    expect(through('F16', Number.NaN)).toEqual([Number.NaN])
    // Every half there is comes back as it is.
    const halves = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits).filter((bits) => (bits & 0x7c00) !== 0x7c00)
    for (const dtype of ['F16', 'BF16'] as const) {
      const data = new Uint8Array(halves.buffer)
      expect(encodeFloats('w', dtype, exactValues('w', { dtype, shape: [halves.length], data }))).toEqual(data)
    }
  })

  test('a module that the model lacks, or of another shape, is refused', () => {
    const weight = writeSafetensors(new Map([['model.w.weight', floatTensor(new Float32Array(6), [2, 3])]]))
    const module = { name: 'model.w', a: floatTensor(new Float32Array(4), [2, 2]), b: floatTensor(new Float32Array(4), [2, 2]) }
    const options = { config: { rank: 2, alpha: 1, rankStabilised: false }, model: {} }
    expect(() => mergeAdapter(weight, [module], options)).toThrow('Cannot merge into model.w.weight: its shape is [2, 3], need [2, 2] for this adapter')
    expect(() => mergeAdapter(weight, [{ ...module, name: 'model.v' }], options)).toThrow('Cannot merge the adapter: the model has no model.v.weight, which it adapts')
  })
})
