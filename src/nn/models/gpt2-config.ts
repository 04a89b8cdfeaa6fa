import type { Gelu } from '../../engine/ops/gelu.ts'
import { GELUS } from './activations.ts'
import { choice, count, flag, positive, refuse, requireSupported } from './config-source.ts'
import type { ModelSizes } from './decoder-config.ts'

/** What of a Hugging Face GPT-2 `config.json` shapes the computation. */
export interface Gpt2Config extends ModelSizes {
  readonly kind: 'gpt2'
  readonly epsilon: number
  readonly activation: Gelu
  /** What scores are multiplied by, layer by layer. */
  readonly attentionScales: readonly number[]
}

/** Switches of `config.json` with the only values that this model computes; a key that is absent has such a value. */
const SUPPORTED: Readonly<Record<string, readonly unknown[]>> = {
  model_type: ['gpt2'],
  // The order of a product and a wider type for it: the same in float32.
  reorder_and_upcast_attn: [false, true],
  add_cross_attention: [false],
  tie_word_embeddings: [true],
  quantization_config: [null],
  // There is no dropout here: training that silently left it out would not be the training asked for.
  attn_pdrop: [0],
  embd_pdrop: [0],
  resid_pdrop: [0],
}

/** Reads a parsed `config.json`. @throws with the key's name, its value and what is allowed. */
export function gpt2Config(json: Readonly<Record<string, unknown>>): Gpt2Config {
  const source = { family: 'GPT-2', json }
  requireSupported(source, SUPPORTED)
  const width = count(source, 'n_embd')
  const heads = count(source, 'n_head')
  if (width % heads !== 0) refuse(source, 'n_embd', width, `a multiple of n_head, which is ${heads}`)
  const headDim = width / heads
  const layers = count(source, 'n_layer')
  const scale = flag(source, 'scale_attn_weights', true) ? 1 / Math.sqrt(headDim) : 1
  const byLayer = flag(source, 'scale_attn_by_inverse_layer_idx', false)
  return {
    kind: 'gpt2',
    vocabSize: count(source, 'vocab_size'),
    positions: count(source, 'n_positions'),
    width,
    layers,
    heads,
    kvHeads: heads,
    headDim,
    innerWidth: count(source, 'n_inner', 4 * width),
    epsilon: positive(source, 'layer_norm_epsilon', 1e-5),
    activation: choice(source, 'activation_function', GELUS, 'gelu_new'),
    attentionScales: Array.from({ length: layers }, (_, layer) => (byLayer ? scale / (layer + 1) : scale)),
    initializerRange: positive(source, 'initializer_range', 0.02),
  }
}
