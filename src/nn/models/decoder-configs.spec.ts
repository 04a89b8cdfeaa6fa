import { expect, test } from 'vitest'
import { goldenConfig } from '../../train/testing/golden.ts'
import { rotaryFrequencies } from '../rotary.ts'
import type { DecoderConfig } from './decoder-config.ts'
import { decoderLayout } from './decoder.ts'
import { modelConfig } from './families.ts'

function read(family: 'llama' | 'gpt_neox' | 'stablelm' | 'qwen3', changes: Readonly<Record<string, unknown>> = {}): DecoderConfig {
  const config = modelConfig({ ...goldenConfig(family), ...changes })
  if (config.kind !== 'decoder') throw new Error('no decoder')
  return config
}

const names = (config: DecoderConfig): string[] => decoderLayout(config).specs.map(({ name }) => name)
const old = (rope: Readonly<Record<string, unknown>>) => ({ rope_parameters: undefined, ...rope })

test('grouped heads, a head size apart from the width, biases and a tied head are read', () => {
  const config = read('llama', { num_key_value_heads: 1, head_dim: 6, attention_bias: true, mlp_bias: true, tie_word_embeddings: true, hidden_act: 'gelu_new' })
  expect(config).toMatchObject({ kvHeads: 1, headDim: 6, qkvBias: true, attentionOutBias: true, mlpBias: true, tied: true })
  expect(config.mlp).toEqual({ kind: 'gated', activation: 'gelu-tanh' })
  const shapes = new Map(decoderLayout(config).specs.map(({ name, shape }) => [name, shape]))
  expect(shapes.get('model.layers.1.self_attn.q_proj.weight')).toEqual([24, 32])
  expect(shapes.get('model.layers.1.self_attn.k_proj.bias')).toEqual([6])
  expect(shapes.get('model.layers.1.self_attn.o_proj.weight')).toEqual([32, 24])
  expect(shapes.get('model.layers.1.mlp.down_proj.bias')).toEqual([32])
  expect(shapes.has('lm_head.weight')).toBe(false)
})

test('Mistral and Qwen2 are Llama with a window and with biases', () => {
  const mistral = read('llama', { model_type: 'mistral', sliding_window: 16 })
  expect(mistral).toEqual({ ...read('llama'), positions: 16 })
  expect(read('llama', { model_type: 'mistral', sliding_window: null }).positions).toBe(64)
  const qwen2 = read('llama', { model_type: 'qwen2', sliding_window: 16, use_sliding_window: false })
  expect(qwen2).toEqual({ ...read('llama'), qkvBias: true })
  expect(read('llama', { model_type: 'qwen2', sliding_window: 16, use_sliding_window: true }).positions).toBe(16)
})

test('parallel residuals: StableLM has one norm a block, GPT-NeoX two', () => {
  expect(read('stablelm').residual).toBe('serial')
  const stablelm = read('stablelm', { use_parallel_residual: true, use_qkv_bias: false })
  expect(stablelm).toMatchObject({ residual: 'parallel-shared-norm', qkvBias: false })
  expect(names(stablelm).filter((name) => name.includes('layernorm.weight'))).toEqual(['model.layers.0.input_layernorm.weight', 'model.layers.1.input_layernorm.weight'])
  expect(read('gpt_neox').residual).toBe('parallel')
  const serial = read('gpt_neox', { use_parallel_residual: false, attention_bias: false })
  expect(serial).toMatchObject({ residual: 'serial', qkvBias: false, attentionOutBias: false, mlpBias: true })
})

test('rotary parameters are read in the new form, in the old one, and by the names of GPT-NeoX', () => {
  expect(read('llama').rotary).toEqual({ theta: 10_000, dims: 8, scaling: { kind: 'default' } })
  expect(read('llama', old({ rope_theta: 5e5, rope_scaling: { type: 'linear', factor: 4 } })).rotary).toEqual({ theta: 5e5, dims: 8, scaling: { kind: 'linear', factor: 4 } })
  expect(read('llama', old({ rope_scaling: { rope_type: 'dynamic', factor: 4 } })).rotary).toEqual(read('llama').rotary)
  expect(read('gpt_neox', old({ rotary_pct: 0.5, rotary_emb_base: 500 })).rotary).toEqual({ theta: 500, dims: 4, scaling: { kind: 'default' } })
  expect(read('gpt_neox', old({})).rotary.dims).toBe(2)
  expect(read('stablelm', old({ partial_rotary_factor: 0.5, rope_theta: 100 })).rotary).toMatchObject({ theta: 100, dims: 4 })
})

test('frequencies without scaling and divided by a factor', () => {
  expect(rotaryFrequencies({ theta: 10_000, dims: 4, scaling: { kind: 'default' } })).toEqual([1, 0.01])
  expect(rotaryFrequencies({ theta: 10_000, dims: 4, scaling: { kind: 'linear', factor: 4 } })).toEqual([0.25, 0.0025])
})

test('Llama 3 leaves fast frequencies, divides slow ones, and mixes between them', () => {
  const rope = { rope_type: 'llama3', rope_theta: 10_000, factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 100 }
  const { rotary } = read('llama', { rope_parameters: rope })
  // Turns over 100 positions: 15.9, 1.59, 0.159, 0.0159; the second lies (1.59 - 1) / 3 of the way.
  const kept = (100 * 0.1) / (2 * Math.PI) / 3 - 1 / 3
  const wanted = [1, 0.1 * (kept + (1 - kept) / 8), 0.01 / 8, 0.001 / 8]
  for (const [pair, frequency] of rotaryFrequencies(rotary).entries()) expect(frequency).toBeCloseTo(wanted[pair] ?? 0, 12)
})

test('YaRN ramps between two dimensions and scales attention by the logarithm of its factor', () => {
  const yarn = { rope_type: 'yarn', rope_theta: 10_000, factor: 4, original_max_position_embeddings: 64, beta_fast: 4, beta_slow: 1 }
  const { rotary } = read('llama', { rope_parameters: yarn })
  expect(rotary.scaling).toMatchObject({ kind: 'yarn', attentionFactor: 0.1 * Math.log(4) + 1, betaFast: 4, truncate: true, trainedPositions: 64 })
  // Ends of the ramp: 8 log(64 / (8 pi)) / (2 log 10000) = 0.41, down to 0, and 8 log(64 / (2 pi)) / (2 log 10000) = 1.008, up to 2.
  const wanted = [1, 0.1 * (0.5 + 0.5 / 4), 0.01 / 4, 0.001 / 4]
  for (const [pair, frequency] of rotaryFrequencies(rotary).entries()) expect(frequency).toBeCloseTo(wanted[pair] ?? 0, 12)
  const untruncated = read('llama', { rope_parameters: { ...yarn, truncate: false, attention_factor: 1.5 } }).rotary.scaling
  expect(untruncated).toMatchObject({ truncate: false, attentionFactor: 1.5 })
})

for (const [family, changes, need] of [
  ['llama', { attention_dropout: 0.1 }, 'Cannot use this Llama config: attention_dropout is 0.1, need 0'],
  ['llama', { hidden_act: 'relu' }, 'hidden_act is "relu", need "silu" or "swish" or "gelu" or'],
  ['llama', { num_key_value_heads: 3 }, 'num_key_value_heads is 3, need a divisor of num_attention_heads, which is 4'],
  ['llama', { head_dim: null, hidden_size: 30 }, 'hidden_size is 30, need a multiple of num_attention_heads, which is 4'],
  ['llama', { quantization_config: { bits: 4 } }, 'quantization_config is {"bits":4}, need null'],
  ['llama', { rope_parameters: { rope_type: 'longrope' } }, 'rope_type is "longrope", need "default", "linear", "dynamic", "llama3" or "yarn"'],
  ['llama', old({ rope_scaling: { type: 'linear' } }), 'factor is missing, need a number above 0'],
  ['llama', { rope_parameters: { full_attention: { rope_type: 'default' } } }, 'rope_parameters is "full_attention", need one set of parameters for all layers'],
  ['llama', { rope_parameters: { rope_type: 'default', partial_rotary_factor: 0.5 } }, 'partial_rotary_factor is 0.5, need 1'],
  [
    'llama',
    { rope_parameters: { rope_type: 'dynamic', factor: 2, original_max_position_embeddings: 32 } },
    'original_max_position_embeddings is 32, need max_position_embeddings, which is 64',
  ],
  ['llama', { head_dim: 7 }, 'partial_rotary_factor is 1, need an even number of the 7 elements of a head, not 7'],
  ['stablelm', { qk_layernorm: true }, 'Cannot use this StableLM config: qk_layernorm is true, need false'],
  ['stablelm', { hidden_dropout: 0.1 }, 'hidden_dropout is 0.1, need 0'],
  ['gpt_neox', { hidden_act: 'silu' }, 'Cannot use this GPT-NeoX config: hidden_act is "silu", need "gelu" or'],
  ['gpt_neox', { num_key_value_heads: 2 }, 'num_key_value_heads is 2, need num_attention_heads, which is 4'],
  ['qwen3', { layer_types: ['linear_attention', 'full_attention'] }, 'layer_types is "linear_attention", need "full_attention" or "sliding_attention"'],
  ['qwen3', { num_key_value_heads: undefined }, 'num_key_value_heads is missing, need a whole number from 1'],
] as const) {
  test(`${family} with ${JSON.stringify(changes)} is refused by name`, () => {
    expect(() => read(family, changes)).toThrow(need)
  })
}
