import { GATES } from './activations.ts'
import { type ConfigSource, choice, count, flag, positive, refuse, requireSupported } from './config-source.ts'
import type { DecoderConfig, DecoderNames, ModelSizes } from './decoder-config.ts'
import { rotaryConfig } from './rotary-config.ts'

export const LLAMA_NAMES: DecoderNames = {
  embedding: 'model.embed_tokens',
  blocks: 'model.layers',
  finalNorm: 'model.norm',
  head: 'lm_head',
  norm1: 'input_layernorm',
  norm2: 'post_attention_layernorm',
  qkv: { query: 'self_attn.q_proj', key: 'self_attn.k_proj', value: 'self_attn.v_proj' },
  attentionOut: 'self_attn.o_proj',
  queryNorm: 'self_attn.q_norm',
  keyNorm: 'self_attn.k_norm',
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj',
}

/** There is no dropout and no quantised arithmetic here. */
export const UNSUPPORTED = { attention_dropout: [0], hidden_dropout: [0], quantization_config: [null], add_cross_attention: [false] } as const

/** Llama (Touvron et al. 2023), with grouped heads, head_dim apart from the width, biases and a tied head as the config says. */
export function llamaConfig(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'Llama', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['llama'] })
  const attentionBias = flag(source, 'attention_bias', false)
  return { ...llamaLike(source, {}), qkvBias: attentionBias, attentionOutBias: attentionBias, mlpBias: flag(source, 'mlp_bias', false) }
}

/** Mistral: Llama with a sliding window. */
export function mistralConfig(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'Mistral', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['mistral'] })
  const window = json['sliding_window'] === undefined ? 4096 : json['sliding_window']
  return llamaLike(source, { window, kvHeads: 'required' })
}

/** Qwen2: Llama with biases on queries, keys and values. */
export function qwen2Config(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'Qwen2', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['qwen2'] })
  return { ...llamaLike(source, { window: qwenWindow(source), kvHeads: 'required' }), qkvBias: true }
}

/** Null where no layer has a window. */
export function qwenWindow(source: ConfigSource): unknown {
  return flag(source, 'use_sliding_window', false) ? (source.json['sliding_window'] ?? 4096) : null
}

export interface LlamaLikeOptions {
  /** `sliding_window` as given; null or absent for none. */
  readonly window?: unknown
  /** Where absent key-value heads mean a number of the family instead of one for each query head. */
  readonly kvHeads?: 'required'
  readonly headDim?: number
}

/** What Llama and its kin share: RMS norms, a gated MLP, rotary positions, no biases. */
export function llamaLike(source: ConfigSource, { window = null, kvHeads, headDim }: LlamaLikeOptions): DecoderConfig {
  const sizes = decoderSizes(source, { ...(kvHeads && { kvHeads }), ...(headDim && { headDim }) })
  return {
    kind: 'decoder',
    names: LLAMA_NAMES,
    ...sizes,
    positions: Math.min(sizes.positions, visible(source, window)),
    norm: 'rms',
    epsilon: positive(source, 'rms_norm_eps', 1e-6),
    rotary: rotaryConfig(source, { headDim: sizes.headDim, positions: sizes.positions, partial: null }),
    qkvBias: false,
    attentionOutBias: false,
    queryKeyNorm: false,
    residual: 'serial',
    mlp: { kind: 'gated', activation: choice(source, 'hidden_act', GATES, 'silu') },
    mlpBias: false,
    tied: flag(source, 'tie_word_embeddings', false),
  }
}

export function decoderSizes(source: ConfigSource, options: Pick<LlamaLikeOptions, 'kvHeads' | 'headDim'> = {}): ModelSizes {
  const { json } = source
  const width = count(source, 'hidden_size')
  const heads = count(source, 'num_attention_heads')
  const apart = options.headDim !== undefined || (json['head_dim'] !== undefined && json['head_dim'] !== null)
  if (!apart && width % heads !== 0) refuse(source, 'hidden_size', width, `a multiple of num_attention_heads, which is ${heads}`)
  const absent = json['num_key_value_heads'] === undefined && options.kvHeads === 'required'
  const kvHeads = absent ? count(source, 'num_key_value_heads') : count(source, 'num_key_value_heads', heads)
  if (heads % kvHeads !== 0) refuse(source, 'num_key_value_heads', kvHeads, `a divisor of num_attention_heads, which is ${heads}`)
  return {
    vocabSize: count(source, 'vocab_size'),
    positions: count(source, 'max_position_embeddings'),
    width,
    layers: count(source, 'num_hidden_layers'),
    heads,
    kvHeads,
    headDim: count(source, 'head_dim', options.headDim ?? width / heads),
    innerWidth: count(source, 'intermediate_size'),
    initializerRange: positive(source, 'initializer_range', 0.02),
  }
}

/** Positions within which a sliding window hides nothing; longer texts would need the window. */
function visible(source: ConfigSource, window: unknown): number {
  const types = source.json['layer_types'] ?? []
  if (!Array.isArray(types)) return refuse(source, 'layer_types', types, 'a list')
  const unknown = types.find((type) => type !== 'full_attention' && type !== 'sliding_attention')
  if (unknown !== undefined) refuse(source, 'layer_types', unknown, '"full_attention" or "sliding_attention"')
  if (window === null || (types.length > 0 && !types.includes('sliding_attention'))) return Number.POSITIVE_INFINITY
  if (typeof window === 'number' && Number.isSafeInteger(window) && window >= 1) return window
  return refuse(source, 'sliding_window', window, 'a whole number from 1')
}
