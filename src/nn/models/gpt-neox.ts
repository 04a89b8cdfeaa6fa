import { GELUS } from './activations.ts'
import { type ConfigSource, choice, flag, positive, refuse, requireSupported } from './config-source.ts'
import type { DecoderConfig, DecoderNames } from './decoder-config.ts'
import { UNSUPPORTED, decoderSizes } from './llama.ts'
import { rotaryConfig } from './rotary-config.ts'

const NAMES: DecoderNames = {
  embedding: 'gpt_neox.embed_in',
  blocks: 'gpt_neox.layers',
  finalNorm: 'gpt_neox.final_layer_norm',
  head: 'embed_out',
  norm1: 'input_layernorm',
  norm2: 'post_attention_layernorm',
  // Head by head, each with its query, key and value.
  qkv: { fused: 'attention.query_key_value' },
  attentionOut: 'attention.dense',
  queryNorm: '',
  keyNorm: '',
  gate: '',
  up: 'mlp.dense_h_to_4h',
  down: 'mlp.dense_4h_to_h',
}

/** GPT-NeoX (Black et al. 2022), Pythia: layer norms, biases, attention and MLP side by side, a part of each head rotated. */
export function gptNeoxConfig(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'GPT-NeoX', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['gpt_neox'] })
  const sizes = decoderSizes(source)
  if (sizes.kvHeads !== sizes.heads) refuse(source, 'num_key_value_heads', sizes.kvHeads, `num_attention_heads, which is ${sizes.heads}`)
  if (sizes.headDim * sizes.heads !== sizes.width) refuse(source, 'head_dim', sizes.headDim, `hidden_size / num_attention_heads, which is ${sizes.width / sizes.heads}`)
  const attentionBias = flag(source, 'attention_bias', true)
  return {
    kind: 'decoder',
    names: NAMES,
    ...sizes,
    norm: 'layer',
    epsilon: positive(source, 'layer_norm_eps', 1e-5),
    rotary: rotaryConfig(source, { headDim: sizes.headDim, positions: sizes.positions, partial: 0.25, thetaKey: 'rotary_emb_base', partialKey: 'rotary_pct' }),
    qkvBias: attentionBias,
    attentionOutBias: attentionBias,
    queryKeyNorm: false,
    residual: flag(source, 'use_parallel_residual', true) ? 'parallel' : 'serial',
    mlp: { kind: 'plain', activation: choice(source, 'hidden_act', GELUS, 'gelu') },
    mlpBias: true,
    tied: flag(source, 'tie_word_embeddings', false),
  }
}
