import * as v from 'valibot'

/**
 * The one schema of a run's options: page form, URL and CLI are made from it. Names and defaults are those of Hugging Face's
 * TrainingArguments, run_clm.py (block_size, validation_split_percentage), GPT2Config (n_*, for all families) and TRL's ModelConfig (lora_*); Tabring's own are marked so.
 */

export type OptionGroup = 'run' | 'data' | 'model' | 'tuning' | 'optimizer' | 'schedule' | 'evaluation' | 'samples' | 'ranks'
export type OptionKind = 'integer' | 'number' | 'boolean' | 'choice' | 'text'

/** What a form or a help text says about an option. */
export type OptionAbout = {
  readonly label: string
  /** One sentence. */
  readonly help: string
  readonly group: OptionGroup
  readonly kind: OptionKind
  /** Completes "need …". */
  readonly allowed: string
  /** Of a choice, else empty. */
  readonly choices: readonly string[]
  /** Of a number; for form fields. */
  readonly min: number | null
  readonly max: number | null
}

interface Range {
  readonly min: number
  readonly max: number
  /** Other allowed values outside the range, with words for `allowed`. */
  readonly or?: { readonly value: number; readonly words: string }
  /** The ends of the range that do not belong to it. */
  readonly open?: 'min' | 'max'
}

type Said = readonly [group: OptionGroup, label: string, help: string]

/** The device batch is one dispatch dimension and one message; both stay far below their limits. */
const MAX_ROWS = 4_096
const MAX_STEPS = 1_000_000_000
const MAX_SEED = 2 ** 32 - 1

function ranged(kind: 'integer' | 'number', range: Range, [group, label, help]: Said) {
  const { min, max, or, open } = range
  const inside = (value: number): boolean => value === or?.value || (value >= min && value <= max && !(open === 'min' && value === min) && !(open === 'max' && value === max))
  const noun = kind === 'integer' ? 'a whole number' : 'a number'
  const from = open === 'min' ? `above ${min}` : `from ${min}`
  const to = open === 'max' ? `below ${max}` : `to ${max}`
  const about: OptionAbout = {
    label,
    help,
    group,
    kind,
    allowed: `${noun} ${from} ${to}${or ? `, or ${or.words}` : ''}`,
    choices: [],
    min: or ? Math.min(min, or.value) : min,
    max,
  }
  const fits = (value: number): boolean => inside(value) && (kind === 'number' || Number.isSafeInteger(value))
  return { schema: v.pipe(v.number(), v.finite(), v.check(fits)), about }
}

function integer(fallback: number, range: Range, said: Said) {
  const { schema, about } = ranged('integer', range, said)
  return v.optional(v.pipe(schema, v.metadata(about)), fallback)
}

function number(fallback: number, range: Range, said: Said) {
  const { schema, about } = ranged('number', range, said)
  return v.optional(v.pipe(schema, v.metadata(about)), fallback)
}

/** `none` says what an absent value means. */
function integerOrNone(range: Range, none: string, said: Said) {
  const { schema, about } = ranged('integer', range, said)
  return v.optional(v.pipe(v.nullable(schema), v.metadata({ ...about, allowed: `${about.allowed}, or nothing (${none})` })), null)
}

function choice<const Choices extends readonly string[]>(choices: Choices, fallback: Choices[number], [group, label, help]: Said) {
  const about: OptionAbout = { label, help, group, kind: 'choice', allowed: `one of ${choices.join(', ')}`, choices, min: null, max: null }
  return v.optional(v.pipe(v.picklist(choices), v.metadata(about)), () => fallback)
}

function flag(fallback: boolean, [group, label, help]: Said) {
  const about: OptionAbout = { label, help, group, kind: 'boolean', allowed: 'true or false', choices: [], min: null, max: null }
  return v.optional(v.pipe(v.boolean(), v.metadata(about)), fallback)
}

function text(fallback: string, maxLength: number, [group, label, help]: Said) {
  const about: OptionAbout = { label, help, group, kind: 'text', allowed: `at most ${maxLength} characters`, choices: [], min: null, max: null }
  return v.optional(v.pipe(v.string(), v.maxLength(maxLength), v.metadata(about)), fallback)
}

export const PRESET_NAMES = ['book', 'tiny', 'gpu', 'none'] as const

const batch: Range = { min: 1, max: MAX_ROWS }
const steps: Range = { min: 1, max: MAX_STEPS }
const every: Range = { min: 0, max: MAX_STEPS }

export const optionSchema = v.strictObject({
  preset: choice(PRESET_NAMES, 'none', ['run', 'Preset', 'Tabring: the values that options start from; none means the defaults of Hugging Face.']),
  output_dir: text('trainer_output', 1_000, ['run', 'Output folder', 'Where the command line writes the model folder; a page names its zip after it.']),
  seed: integer(42, { min: 0, max: MAX_SEED }, ['run', 'Seed', 'Seeds the initial weights, the sample order and the generated text.']),
  num_train_epochs: number(3, { min: 0, max: 1_000_000, open: 'min' }, ['run', 'Epochs', 'Passes over the training data, when max_steps does not say how many updates.']),
  max_steps: integer(-1, { ...steps, or: { value: -1, words: '-1 for num_train_epochs' } }, ['run', 'Updates', 'Optimizer updates of the whole run; wins over num_train_epochs.']),
  logging_steps: integer(500, steps, ['run', 'Log every', 'Updates between two log lines.']),
  logging_first_step: flag(false, ['run', 'Log the first update', 'Whether the first update has a log line of its own.']),
  save_strategy: choice(['no', 'steps', 'epoch'], 'steps', [
    'run',
    'Save checkpoints',
    'When a checkpoint is kept, in output_dir by the command line and in this browser by a page; unless no, also at the end.',
  ]),
  save_steps: integer(500, steps, ['run', 'Save every', 'Updates between two checkpoints when save_strategy is steps.']),
  save_total_limit: integerOrNone(steps, 'all', ['run', 'Most checkpoints', 'Checkpoints that are kept; the oldest go first, once a new one stands.']),

  tokenizer: choice(['byte', 'char', 'bpe', 'file'], 'char', [
    'data',
    'Tokenizer',
    "Tabring: what a token is: a byte, a character, a piece learned from the text, or what the model's own tokenizer.json says.",
  ]),
  vocab_size: integer(1_024, { min: 256, max: 65_536 }, ['data', 'BPE vocabulary', 'Tokens that the bpe tokenizer learns; the 256 bytes are among them.']),
  block_size: integer(64, { min: 2, max: 16_384 }, ['data', 'Block size', 'Tokens in one sample, where longer rows are cut; also the longest text the model can see.']),
  dataset_text_field: text('text', 200, ['data', 'Text column', 'Column of a JSONL or CSV file with texts, when it has no input_ids, messages, or prompt and completion.']),
  completion_only_loss: flag(true, ['data', 'Learn answers only', 'Whether prompts, and messages that the assistant did not write, have no loss.']),
  packing: flag(false, ['data', 'Pack rows', 'Puts several short rows into one block; none sees the others.']),
  validation_split_percentage: number(5, { min: 0, max: 50, open: 'min' }, [
    'data',
    'Validation share (%)',
    'The end of the data that is held out to measure the validation loss, when there is no validation file; of rows only when something is evaluated.',
  ]),
  train_sampling_strategy: choice(['random', 'sequential'], 'random', ['data', 'Sample order', 'Whether each epoch shuffles the samples.']),

  model_type: choice(['gpt2', 'llama', 'gpt_neox', 'stablelm', 'qwen3'], 'gpt2', ['model', 'Family', 'The architecture, by its name in transformers.']),
  n_layer: integer(4, { min: 1, max: 128 }, ['model', 'Layers', 'Transformer blocks.']),
  n_embd: integer(128, { min: 1, max: 16_384 }, ['model', 'Width', 'Width of the residual stream; a multiple of n_head.']),
  n_head: integer(4, { min: 1, max: 256 }, ['model', 'Heads', 'Attention heads in each block.']),
  num_key_value_heads: integerOrNone({ min: 1, max: 256 }, 'n_head', [
    'model',
    'Key-value heads',
    'Heads of keys and values, each for several query heads; not of gpt2 and gpt_neox.',
  ]),
  n_inner: integerOrNone({ min: 1, max: 65_536 }, '4 x n_embd, or 8/3 where the MLP is gated', ['model', 'MLP width', "Width of the MLP's hidden layer."]),
  initializer_range: number(0.02, { min: 0, max: 1, open: 'min' }, ['model', 'Initial spread', 'Standard deviation of the initial weights; small widths learn sooner with more.']),

  use_peft: flag(false, ['tuning', 'Train a LoRA adapter', 'Whether small adapters beside the weights are trained instead of the weights, from a model that is there.']),
  lora_r: integer(16, { min: 1, max: 4_096 }, ['tuning', 'LoRA rank', 'Numbers between the two halves of an adapter.']),
  lora_alpha: number(32, { min: 0, max: 65_536, open: 'min' }, ['tuning', 'LoRA alpha', 'Adapters are scaled by lora_alpha / lora_r.']),
  lora_dropout: number(0.05, { min: 0, max: 1, open: 'max' }, ['tuning', 'LoRA dropout', "Share of an adapter's inputs that is left out at random in training."]),
  use_rslora: flag(false, ['tuning', 'rsLoRA', 'Whether adapters are scaled by lora_alpha / sqrt(lora_r) instead.']),
  lora_target_modules: text('', 2_000, [
    'tuning',
    'LoRA modules',
    "Names of linear layers with commas between them, such as q_proj,v_proj, or all-linear; empty for PEFT's choice for the family.",
  ]),
  freeze: text('', 2_000, [
    'tuning',
    'Frozen parameters',
    'Tabring: names of parameters or modules with commas between them, * for any characters, such as model.embed_tokens,*.layers.0; they stay as they are.',
  ]),

  per_device_train_batch_size: integer(8, batch, ['optimizer', 'Rows per micro-batch', 'Samples that a rank computes at once.']),
  gradient_accumulation_steps: integer(1, { min: 1, max: 65_536 }, ['optimizer', 'Accumulation', 'Micro-batches whose gradients a rank adds up before an update.']),
  global_batch_size: integerOrNone({ min: 1, max: 16_777_216 }, 'per_device_train_batch_size x ranks x gradient_accumulation_steps', [
    'optimizer',
    'Samples per update',
    'Tabring: fixed when the room starts, whatever the number of ranks.',
  ]),
  optim: choice(['adamw_torch', 'sgd'], 'adamw_torch', ['optimizer', 'Optimizer', "AdamW, or plain gradient descent; both as torch's."]),
  learning_rate: number(5e-5, { min: 0, max: 100 }, ['optimizer', 'Learning rate', 'The highest rate of the schedule.']),
  momentum: number(0, { min: 0, max: 1, open: 'max' }, ['optimizer', 'Momentum', 'Tabring: of sgd; 0 keeps none.']),
  weight_decay: number(0, { min: 0, max: 10 }, ['optimizer', 'Weight decay', 'Of weight matrices and embeddings; biases and norms have none.']),
  adam_beta1: number(0.9, { min: 0, max: 1, open: 'max' }, ['optimizer', 'Adam beta 1', 'Decay of the mean of gradients.']),
  adam_beta2: number(0.999, { min: 0, max: 1, open: 'max' }, ['optimizer', 'Adam beta 2', 'Decay of the mean of squared gradients.']),
  adam_epsilon: number(1e-8, { min: 0, max: 1, open: 'min' }, ['optimizer', 'Adam epsilon', 'Keeps the division by the root of squared gradients finite.']),
  label_smoothing_factor: number(0, { min: 0, max: 1, open: 'max' }, [
    'optimizer',
    'Label smoothing',
    'Share of each target that is spread over the vocabulary; evaluations have none.',
  ]),
  max_grad_norm: number(1, { min: 0, max: 1_000_000 }, ['optimizer', 'Clip norm', 'Gradients with a larger norm are scaled down to it; 0 leaves them alone.']),

  lr_scheduler_type: choice(['linear', 'cosine', 'constant', 'constant_with_warmup'], 'linear', ['schedule', 'Schedule', 'How the learning rate falls after the warm-up.']),
  warmup_steps: number(0, every, ['schedule', 'Warm-up updates', 'Updates over which the rate rises from 0, or below 1 their share of all; above 0 it wins over warmup_ratio.']),
  warmup_ratio: number(0, { min: 0, max: 1 }, ['schedule', 'Warm-up share', 'Share of all updates over which the rate rises from 0.']),

  eval_strategy: choice(['no', 'steps', 'epoch'], 'no', ['evaluation', 'Evaluate', 'When the validation loss is measured.']),
  eval_on_start: flag(false, ['evaluation', 'Evaluate before', 'Whether the validation loss is measured before the first update too.']),
  eval_steps: integerOrNone(steps, 'logging_steps', ['evaluation', 'Evaluate every', 'Updates between two evaluations when eval_strategy is steps.']),
  early_stopping_patience: integerOrNone({ min: 1, max: MAX_STEPS }, 'never', [
    'evaluation',
    'Patience',
    "Evaluations in a row that may pass without a lower validation loss before training ends, as the Trainer's EarlyStoppingCallback.",
  ]),
  early_stopping_threshold: number(0, { min: 0, max: 1_000 }, ['evaluation', 'Least gain', 'A validation loss counts as lower when it is lower by more than this.']),
  per_device_eval_batch_size: integer(8, batch, ['evaluation', 'Rows per evaluation', 'Samples that a rank evaluates at once; at most per_device_train_batch_size are used.']),
  max_eval_samples: integerOrNone({ min: 1, max: MAX_STEPS }, 'all', [
    'evaluation',
    'Most evaluated samples',
    'Validation samples that are measured, spread evenly over the held-out text.',
  ]),

  sample_every: integer(0, every, ['samples', 'Write text every', 'Tabring: updates between two generated texts; 0 for none.']),
  sample_tokens: integer(200, { min: 1, max: 16_384 }, ['samples', 'Text length', 'Tabring: tokens of one generated text.']),
  sample_prompt: text('', 1_000, ['samples', 'Prompt', 'Tabring: what generated texts continue; empty starts them on a new line.']),
  sample_temperature: number(0.8, { min: 0, max: 100 }, ['samples', 'Temperature', 'Tabring: below 1 writes safer text, above 1 wilder; 0 always takes the likeliest token.']),
  sample_top_k: integer(50, { min: 0, max: 65_536 }, ['samples', 'Top k', 'Tabring: only so many likeliest tokens are drawn from; 0 for all.']),
  sample_top_p: number(1, { min: 0, max: 1, open: 'min' }, ['samples', 'Top p', 'Tabring: only the likeliest tokens that together have this probability; 1 for all.']),

  max_ranks: integer(16, { min: 1, max: 1_024 }, ['ranks', 'Most ranks', 'Tabring: further tabs are turned away.']),
  micro_batch_shares: text('', 200, ['ranks', 'Shares of the work', 'Tabring: relative numbers of micro-batches by rank, such as 4,3,1; empty shares them evenly.']),
  hash_every: integer(100, every, ['ranks', 'Compare state every', 'Tabring: updates between two comparisons of the state of all ranks; 0 compares only when ranks change.']),
  profile: choice(['auto', 'lane', 'shared'], 'auto', ['ranks', 'Kernels', 'Tabring: lane kernels suit CPU adapters, shared ones GPUs; auto asks the adapter.']),
  bucket_cap_mb: number(25, { min: 0, max: 1_024, open: 'min' }, ['ranks', 'Bucket size (MB)', "Gradients that travel together, as in PyTorch's DistributedDataParallel."]),
  ring_deadline_ms: integer(30_000, { min: 100, max: 3_600_000 }, ['ranks', 'Ring deadline (ms)', 'Tabring: a gradient sum without progress for so long has failed.']),
})

export type TrainingOptions = Readonly<v.InferOutput<typeof optionSchema>>
export type OptionName = keyof TrainingOptions
