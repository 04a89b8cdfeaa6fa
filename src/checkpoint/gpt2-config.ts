import type { TrainingOptions } from '../protocol/options.ts'

/** As GPT2Config has it. */
const LAYER_NORM_EPSILON = 1e-5

/** config.json of the GPT-2 that the options describe. There is no dropout, and no token that begins or ends a text. */
export function gpt2ConfigJson(
  options: Pick<TrainingOptions, 'block_size' | 'initializer_range' | 'n_embd' | 'n_head' | 'n_inner' | 'n_layer'>,
  vocabSize: number,
): Record<string, unknown> {
  return {
    activation_function: 'gelu_new',
    add_cross_attention: false,
    architectures: ['GPT2LMHeadModel'],
    attn_pdrop: 0,
    bos_token_id: null,
    dtype: 'float32',
    embd_pdrop: 0,
    eos_token_id: null,
    initializer_range: options.initializer_range,
    layer_norm_epsilon: LAYER_NORM_EPSILON,
    model_type: 'gpt2',
    n_embd: options.n_embd,
    n_head: options.n_head,
    n_inner: options.n_inner,
    n_layer: options.n_layer,
    n_positions: options.block_size,
    pad_token_id: null,
    reorder_and_upcast_attn: false,
    resid_pdrop: 0,
    scale_attn_by_inverse_layer_idx: false,
    scale_attn_weights: true,
    summary_activation: null,
    summary_first_dropout: 0.1,
    summary_proj_to_labels: true,
    summary_type: 'cls_index',
    summary_use_proj: true,
    tie_word_embeddings: true,
    use_cache: true,
    vocab_size: vocabSize,
  }
}

/** generation_config.json: samples as the run's own generated texts did. */
export function generationConfigJson(options: Pick<TrainingOptions, 'block_size' | 'sample_temperature' | 'sample_top_k'>): Record<string, unknown> {
  const sampling = options.sample_temperature > 0 ? { do_sample: true, temperature: options.sample_temperature, top_k: options.sample_top_k } : { do_sample: false }
  return { ...sampling, max_length: options.block_size }
}

/** Trainable numbers of the model that these options make; the head shares the token embedding's. */
export function gpt2ParameterCount(options: Pick<TrainingOptions, 'block_size' | 'n_embd' | 'n_inner' | 'n_layer'>, vocabSize: number): number {
  const { block_size, n_embd: width, n_layer } = options
  const inner = options.n_inner ?? 4 * width
  const norm = 2 * width
  const attention = width * 3 * width + 3 * width + width * width + width
  const mlp = width * inner + inner + inner * width + width
  return (vocabSize + block_size) * width + n_layer * (2 * norm + attention + mlp) + norm
}
