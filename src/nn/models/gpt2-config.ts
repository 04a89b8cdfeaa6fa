/** What of a Hugging Face GPT-2 `config.json` shapes the computation. */
export interface Gpt2Config {
  readonly vocabSize: number
  /** Longest sequence. */
  readonly positions: number
  readonly width: number
  readonly layers: number
  readonly heads: number
  /** Width of the MLP's hidden layer. */
  readonly innerWidth: number
  readonly epsilon: number
  /** Standard deviation of initial weights. */
  readonly initializerRange: number
}

/** Switches of `config.json` with the only values that this model computes; a key that is absent has that value. */
const SUPPORTED: Readonly<Record<string, readonly unknown[]>> = {
  model_type: ['gpt2'],
  activation_function: ['gelu_new', 'gelu_pytorch_tanh'],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  reorder_and_upcast_attn: [false],
  add_cross_attention: [false],
  tie_word_embeddings: [true],
  // There is no dropout here: training that silently left it out would not be the training asked for.
  attn_pdrop: [0],
  embd_pdrop: [0],
  resid_pdrop: [0],
}

/** Reads a parsed `config.json`. @throws with the key's name, its value and what is allowed. */
export function gpt2Config(json: Readonly<Record<string, unknown>>): Gpt2Config {
  for (const [key, allowed] of Object.entries(SUPPORTED)) {
    const value = json[key]
    if (value !== undefined && !allowed.includes(value)) refuse(key, value, allowed.map((one) => JSON.stringify(one)).join(' or '))
  }
  const width = count(json, 'n_embd')
  const heads = count(json, 'n_head')
  if (width % heads !== 0) refuse('n_embd', width, `a multiple of n_head, which is ${heads}`)
  return {
    vocabSize: count(json, 'vocab_size'),
    positions: count(json, 'n_positions'),
    width,
    layers: count(json, 'n_layer'),
    heads,
    innerWidth: json['n_inner'] === null || json['n_inner'] === undefined ? 4 * width : count(json, 'n_inner'),
    epsilon: positive(json, 'layer_norm_epsilon', 1e-5),
    initializerRange: positive(json, 'initializer_range', 0.02),
  }
}

function count(json: Readonly<Record<string, unknown>>, key: string): number {
  const value = json[key]
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : refuse(key, value, 'a whole number from 1')
}

function positive(json: Readonly<Record<string, unknown>>, key: string, fallback: number): number {
  const value = json[key] ?? fallback
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : refuse(key, value, 'a number above 0')
}

function refuse(key: string, value: unknown, need: string): never {
  throw new Error(`Cannot use this GPT-2 config: ${key} is ${JSON.stringify(value) ?? 'missing'}, need ${need}`)
}
