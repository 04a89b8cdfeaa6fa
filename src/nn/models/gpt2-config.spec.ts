import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { layOutParameters } from '../../engine/parameters.ts'
import { gpt2Config } from './gpt2-config.ts'
import { checkFits, predictMemory } from './memory.ts'
import { gpt2Layout } from './gpt2.ts'

const json = JSON.parse(readFileSync('e2e/fixtures/golden/gpt2/config.json', 'utf8'))

test('a Hugging Face config is read, and its absent inner width is four times the width', () => {
  expect(gpt2Config(json)).toEqual({
    kind: 'gpt2',
    vocabSize: 80,
    positions: 64,
    width: 32,
    layers: 2,
    heads: 4,
    kvHeads: 4,
    headDim: 8,
    innerWidth: 128,
    epsilon: 1e-5,
    activation: 'gelu-tanh',
    attentionScales: [8 ** -0.5, 8 ** -0.5],
    initializerRange: 0.02,
  })
})

for (const [key, value, need] of [
  ['resid_pdrop', 0.1, 'Cannot use this GPT-2 config: resid_pdrop is 0.1, need 0'],
  ['activation_function', 'relu', 'Cannot use this GPT-2 config: activation_function is "relu", need "gelu" or "gelu_new" or "gelu_fast" or "gelu_pytorch_tanh"'],
  ['add_cross_attention', true, 'Cannot use this GPT-2 config: add_cross_attention is true, need false'],
  ['n_inner', 0.5, 'Cannot use this GPT-2 config: n_inner is 0.5, need a whole number from 1'],
  ['tie_word_embeddings', false, 'Cannot use this GPT-2 config: tie_word_embeddings is false, need true'],
  ['model_type', 'llama', 'Cannot use this GPT-2 config: model_type is "llama", need "gpt2"'],
  ['n_layer', 0, 'Cannot use this GPT-2 config: n_layer is 0, need a whole number from 1'],
  ['n_embd', 30, 'Cannot use this GPT-2 config: n_embd is 30, need a multiple of n_head, which is 4'],
  ['vocab_size', undefined, 'Cannot use this GPT-2 config: vocab_size is missing, need a whole number from 1'],
  ['layer_norm_epsilon', '1e-5', 'Cannot use this GPT-2 config: layer_norm_epsilon is "1e-5", need a number above 0'],
] as const) {
  test(`${key} of ${value} is refused by name`, () => {
    expect(() => gpt2Config({ ...json, [key]: value })).toThrow(need)
  })
}

test('the switches of attention, activation and inner width are read', () => {
  const scaled = gpt2Config({ ...json, scale_attn_by_inverse_layer_idx: true, reorder_and_upcast_attn: true, n_inner: 72, activation_function: 'gelu' })
  expect(scaled).toMatchObject({ attentionScales: [8 ** -0.5, 8 ** -0.5 / 2], innerWidth: 72, activation: 'gelu' })
  expect(gpt2Config({ ...json, scale_attn_weights: false }).attentionScales).toEqual([1, 1])
})

test('the parameters are those of a Hugging Face file, embeddings first', () => {
  const specs = gpt2Layout(gpt2Config(json)).specs
  expect(specs.slice(0, 2).map(({ name }) => name)).toEqual(['transformer.wte.weight', 'transformer.wpe.weight'])
  expect(specs.find(({ name }) => name === 'transformer.h.1.attn.c_attn.weight')?.shape).toEqual([32, 96])
  expect(layOutParameters(specs).slots.reduce((sum, { length }) => sum + length, 0)).toBe(30_080)
})

test('memory is four times the parameters, plus activations and logits', () => {
  const prediction = predictMemory(gpt2Config(json), { batch: 4, length: 64 })
  expect(prediction.moments).toBe(2 * prediction.parameters)
  expect(prediction.logits).toBe(4 * 64 * 80 * 4)
  expect(prediction.total).toBe(4 * prediction.parameters + prediction.activations + prediction.logits)
})

test('frozen parameters are counted once, and adapters with what they keep for the backward', () => {
  const all = predictMemory(gpt2Config(json), { batch: 4, length: 64 })
  const lora = { rank: 4, alpha: 8, rankStabilised: false, dropout: 0, targets: ['c_attn'] }
  const some = predictMemory(gpt2Config(json), { batch: 4, length: 64 }, { freeze: [], lora })
  // Two layers of [4, 32] and [96, 4].
  expect(some.gradients).toBe(2 * (4 * 32 + 96 * 4) * 4)
  expect(some.parameters).toBe(all.parameters + some.gradients)
  expect(some.activations - all.activations).toBe(4 * 64 * 2 * (2 * 4) * 4)
  expect(some.total).toBe(some.parameters + 3 * some.gradients + some.activations + some.logits)
})

test('what does not fit the adapter is said with the numbers', () => {
  const limits = { maxStorageBufferBindingSize: 128 * 2 ** 20, maxBufferSize: 256 * 2 ** 20 }
  const small = gpt2Config(json)
  expect(checkFits(small, { batch: 4, length: 64 }, limits)).toBeNull()
  expect(checkFits(small, { batch: 4, length: 65 }, limits)).toBe('Cannot train on 65 tokens a row: the model has 64 positions')
  const gpt2 = { ...small, vocabSize: 50_257, width: 768, heads: 12, innerWidth: 3072, layers: 12, positions: 1024 }
  expect(checkFits(gpt2, { batch: 1, length: 64 }, limits)).toBe('Cannot fit the token embedding (50257 x 768): 154389504 bytes, this adapter binds at most 134217728')
  expect(checkFits({ ...gpt2, vocabSize: 20_000 }, { batch: 1, length: 64 }, limits)).toMatch(
    /^Cannot fit the parameters: 40\d+ bytes, this adapter allows buffers of at most 268435456$/,
  )
})
