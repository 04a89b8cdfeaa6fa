import { expect, test } from 'vitest'
import { elementCount } from '../engine/tensor.ts'
import { modelConfig, modelLayout } from '../nn/models/families.ts'
import { parseOptions, type TrainingOptions } from '../protocol/options.ts'
import { GOLDEN_FAMILIES, goldenConfig } from '../train/testing/golden.ts'
import { modelConfigJson, parameterCount } from './model-config.ts'

function described(options: TrainingOptions) {
  return modelConfig(modelConfigJson(options, 84))
}

for (const family of GOLDEN_FAMILIES) {
  test(`config.json of ${family} has the keys of one that transformers wrote`, () => {
    const ours = { ...modelConfigJson(parseOptions({ model_type: family }), 84), transformers_version: '' }
    expect(Object.keys(ours).sort()).toEqual(Object.keys(goldenConfig(family)).sort())
  })

  const grouped = family === 'llama' || family === 'stablelm' || family === 'qwen3'
  for (const sizes of [{}, { n_layer: 3, n_embd: 64, n_head: 8, n_inner: 100 }, { n_embd: 96, ...(grouped && { num_key_value_heads: 2 }) }]) {
    test(`the count of ${family} with ${JSON.stringify(sizes)} is that of the model's parameters`, () => {
      const options = parseOptions({ model_type: family, ...sizes })
      const shapes = modelLayout(described(options)).specs.map(({ shape }) => elementCount(shape))
      expect(parameterCount(options, 84)).toBe(shapes.reduce((sum, size) => sum + size, 0))
    })
  }
}

test('options shape the model', () => {
  const options = parseOptions({ model_type: 'llama', n_layer: 2, n_embd: 64, n_head: 4, num_key_value_heads: 2, block_size: 32, initializer_range: 0.05 })
  expect(described(options)).toMatchObject({
    vocabSize: 84,
    positions: 32,
    width: 64,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    innerWidth: 176,
    initializerRange: 0.05,
    rotary: { dims: 16 },
  })
  expect(described(parseOptions({ model_type: 'gpt_neox', n_embd: 64, n_head: 4 }))).toMatchObject({ innerWidth: 256, rotary: { dims: 4 }, residual: 'parallel' })
})

for (const [given, need] of [
  [{ model_type: 'gpt3' }, 'Cannot set model_type to "gpt3": need one of gpt2, llama, gpt_neox, stablelm, qwen3'],
  [{ model_type: 'llama', num_key_value_heads: 3 }, 'Cannot set num_key_value_heads to 3: need a divisor of n_head, which is 4'],
  [{ num_key_value_heads: 2 }, 'Cannot set num_key_value_heads to 2: need nothing, because gpt2 has a key and a value for each of its heads'],
  [{ model_type: 'qwen3', n_embd: 20 }, 'Cannot set n_embd to 20: need a multiple of 2 x n_head, which is 8, because qwen3 rotates pairs of each head'],
  [{ model_type: 'stablelm', n_embd: 48 }, 'Cannot set n_embd to 48: need a multiple of 8 x n_head, which is 32, because stablelm rotates pairs of each head'],
] as const) {
  test(`${JSON.stringify(given)} is refused`, () => {
    expect(() => parseOptions(given)).toThrow(need)
  })
}
