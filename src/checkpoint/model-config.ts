import { innerWidth, isGated } from '../protocol/option-checks.ts'
import type { TrainingOptions } from '../protocol/options.ts'

/** As GPT2Config, GPTNeoXConfig and StableLmConfig have it. */
const LAYER_NORM_EPSILON = 1e-5
/** As LlamaConfig and Qwen3Config have it. */
const RMS_NORM_EPSILON = 1e-6
const ROPE_THETA = 10_000
/** Share of each head that GPT-NeoX and StableLM rotate. */
const PARTIAL_ROTARY = 0.25

type Json = Readonly<Record<string, unknown>>

export type ModelOptions = Pick<TrainingOptions, 'block_size' | 'initializer_range' | 'model_type' | 'n_embd' | 'n_head' | 'n_inner' | 'n_layer' | 'num_key_value_heads'>

/** config.json of the model that the options describe. There is no dropout, and no token that begins or ends a text. */
export function modelConfigJson(options: ModelOptions, vocabSize: number): Json {
  switch (options.model_type) {
    case 'gpt2':
      return gpt2Json(options, vocabSize)
    case 'llama':
      return { ...decoderJson(options, vocabSize), ...grouped(options), ...rms(options), architectures: ['LlamaForCausalLM'], mlp_bias: false, pretraining_tp: 1 }
    case 'qwen3':
      return { ...decoderJson(options, vocabSize), ...grouped(options), ...rms(options), ...fullAttention(options), architectures: ['Qwen3ForCausalLM'] }
    case 'stablelm':
      return { ...decoderJson(options, vocabSize), ...grouped(options), ...partial(), ...stablelm(), architectures: ['StableLmForCausalLM'] }
    case 'gpt_neox':
      return { ...decoderJson(options, vocabSize), ...partial(), ...gptNeox(), architectures: ['GPTNeoXForCausalLM'] }
    default:
      return options.model_type satisfies never
  }
}

/** What all families but GPT-2 call by the same names. */
function decoderJson(options: ModelOptions, vocabSize: number): Json {
  return {
    attention_dropout: 0,
    bos_token_id: null,
    dtype: 'float32',
    eos_token_id: null,
    hidden_act: 'silu',
    hidden_size: options.n_embd,
    initializer_range: options.initializer_range,
    intermediate_size: innerWidth(options),
    max_position_embeddings: options.block_size,
    model_type: options.model_type,
    num_attention_heads: options.n_head,
    num_hidden_layers: options.n_layer,
    pad_token_id: null,
    rope_parameters: { rope_theta: ROPE_THETA, rope_type: 'default' },
    tie_word_embeddings: false,
    use_cache: true,
    vocab_size: vocabSize,
  }
}

function grouped({ n_head, num_key_value_heads }: ModelOptions): Json {
  return { num_key_value_heads: num_key_value_heads ?? n_head }
}

function rms({ n_embd, n_head }: ModelOptions): Json {
  return { attention_bias: false, head_dim: n_embd / n_head, rms_norm_eps: RMS_NORM_EPSILON }
}

function fullAttention({ n_layer }: ModelOptions): Json {
  return {
    layer_types: Array.from({ length: n_layer }, () => 'full_attention'),
    max_window_layers: n_layer,
    sliding_window: null,
    use_sliding_window: false,
  }
}

function partial(): Json {
  return {
    hidden_dropout: 0,
    layer_norm_eps: LAYER_NORM_EPSILON,
    rope_parameters: { partial_rotary_factor: PARTIAL_ROTARY, rope_theta: ROPE_THETA, rope_type: 'default' },
  }
}

function stablelm(): Json {
  return { partial_rotary_factor: PARTIAL_ROTARY, qk_layernorm: false, use_parallel_residual: false, use_qkv_bias: false }
}

function gptNeox(): Json {
  return { attention_bias: true, classifier_dropout: 0, hidden_act: 'gelu', is_decoder: false, use_parallel_residual: true }
}

function gpt2Json(options: ModelOptions, vocabSize: number): Json {
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
export function generationConfigJson(options: Pick<TrainingOptions, 'block_size' | 'sample_temperature' | 'sample_top_k' | 'sample_top_p'>): Record<string, unknown> {
  const sampling =
    options.sample_temperature > 0 ? { do_sample: true, temperature: options.sample_temperature, top_k: options.sample_top_k, top_p: options.sample_top_p } : { do_sample: false }
  return { ...sampling, max_length: options.block_size }
}

/** Trainable numbers of the model that these options make. GPT-2's head shares the token embedding's; the others have their own. */
export function parameterCount(options: ModelOptions, vocabSize: number): number {
  const { model_type, block_size, n_embd: width, n_head, n_layer } = options
  const queries = width
  const keys = (width / n_head) * (options.num_key_value_heads ?? n_head)
  const inner = innerWidth(options)
  const biased = model_type === 'gpt2' || model_type === 'gpt_neox'
  const norm = model_type === 'llama' || model_type === 'qwen3' ? width : 2 * width
  const queryKeyNorms = model_type === 'qwen3' ? (2 * width) / n_head : 0
  const attention = width * (queries + 2 * keys) + queries * width + queryKeyNorms + (biased ? queries + 2 * keys + width : 0)
  const mlp = (isGated(options) ? 3 : 2) * width * inner + (biased ? inner + width : 0)
  const ends = model_type === 'gpt2' ? (vocabSize + block_size) * width : 2 * vocabSize * width
  return ends + n_layer * (2 * norm + attention + mlp) + norm
}
