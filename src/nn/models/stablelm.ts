import { GATES } from './activations.ts'
import { type ConfigSource, choice, flag, positive, requireSupported } from './config-source.ts'
import type { DecoderConfig } from './decoder-config.ts'
import { LLAMA_NAMES, UNSUPPORTED, decoderSizes } from './llama.ts'
import { rotaryConfig } from './rotary-config.ts'

/** StableLM: Llama's names with layer norms, a part of each head rotated, and one norm a block when MLP and attention are parallel. */
export function stablelmConfig(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'StableLM', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['stablelm'], qk_layernorm: [false] })
  const sizes = decoderSizes(source, { kvHeads: 'required' })
  return {
    kind: 'decoder',
    names: LLAMA_NAMES,
    ...sizes,
    norm: 'layer',
    epsilon: positive(source, 'layer_norm_eps', 1e-5),
    rotary: rotaryConfig(source, { headDim: sizes.headDim, positions: sizes.positions, partial: 0.25 }),
    qkvBias: flag(source, 'use_qkv_bias', false),
    attentionOutBias: false,
    queryKeyNorm: false,
    residual: flag(source, 'use_parallel_residual', false) ? 'parallel-shared-norm' : 'serial',
    mlp: { kind: 'gated', activation: choice(source, 'hidden_act', GATES, 'silu') },
    mlpBias: false,
    tied: flag(source, 'tie_word_embeddings', false),
  }
}
