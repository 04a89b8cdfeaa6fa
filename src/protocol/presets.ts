import { PRESET_NAMES } from './option-schema.ts'
import { OptionError, type OptionName, parseOptions, type TrainingOptions } from './options.ts'

export type PresetName = (typeof PRESET_NAMES)[number]

export interface Preset {
  readonly label: string
  /** One sentence. */
  readonly help: string
  readonly values: Readonly<Partial<TrainingOptions>>
}

export const DEFAULT_PRESET: PresetName = 'book'

/** Options that start together; they lie over the defaults of Hugging Face, and what a person sets lies over them. */
export const presets: Readonly<Record<PresetName, Preset>> = {
  book: {
    label: 'Book',
    help: 'Learns to write like a book in minutes, also without a GPU.',
    values: {
      tokenizer: 'char',
      n_layer: 2,
      n_embd: 64,
      n_head: 4,
      initializer_range: 0.07,
      block_size: 64,
      per_device_train_batch_size: 8,
      learning_rate: 5e-3,
      adam_beta2: 0.99,
      weight_decay: 0.1,
      warmup_ratio: 0.1,
      max_steps: 600,
      lr_scheduler_type: 'cosine',
      logging_steps: 10,
      save_strategy: 'no',
      eval_strategy: 'steps',
      eval_steps: 100,
      max_eval_samples: 128,
      sample_every: 100,
      bucket_cap_mb: 1,
    },
  },
  tiny: {
    label: 'Tiny',
    help: 'A quick look: a very small model and few updates.',
    values: {
      tokenizer: 'char',
      n_layer: 2,
      n_embd: 32,
      n_head: 2,
      initializer_range: 0.1,
      block_size: 32,
      per_device_train_batch_size: 4,
      learning_rate: 3e-3,
      max_steps: 20,
      logging_steps: 5,
      save_strategy: 'no',
      eval_strategy: 'steps',
      eval_steps: 10,
      max_eval_samples: 32,
      sample_every: 10,
      sample_tokens: 40,
      bucket_cap_mb: 0.05,
    },
  },
  gpu: {
    label: 'GPU',
    help: 'A larger model of learned word pieces, for machines with a graphics card.',
    values: {
      tokenizer: 'bpe',
      vocab_size: 4_096,
      n_layer: 6,
      n_embd: 384,
      n_head: 6,
      block_size: 256,
      per_device_train_batch_size: 16,
      learning_rate: 1e-3,
      adam_beta2: 0.99,
      weight_decay: 0.1,
      warmup_ratio: 0.05,
      max_steps: 2_000,
      lr_scheduler_type: 'cosine',
      logging_steps: 20,
      save_strategy: 'no',
      eval_strategy: 'steps',
      eval_steps: 200,
      sample_every: 200,
      bucket_cap_mb: 4,
    },
  },
  none: {
    label: 'None',
    help: 'The defaults of Hugging Face with a small model.',
    values: {},
  },
}

/** A preset's value of the second option gives way when a person sets the first: it would undo or contradict the choice. */
const GIVES_WAY: readonly (readonly [set: OptionName, gone: OptionName])[] = [
  ['num_train_epochs', 'max_steps'],
  ['warmup_steps', 'warmup_ratio'],
  ['save_steps', 'save_strategy'],
]

/**
 * The preset `raw.preset` (the default one when absent), then `raw` over it.
 * @throws OptionError as parseOptions.
 */
export function resolveOptions(raw: Readonly<Record<string, unknown>>): TrainingOptions {
  const preset = presetName(raw['preset'] ?? DEFAULT_PRESET)
  const values: Record<string, unknown> = { ...presets[preset].values }
  for (const [set, gone] of GIVES_WAY) if (isGiven(raw, set)) delete values[gone]
  if (isGiven(raw, 'eval_strategy') && raw['eval_strategy'] !== 'steps') delete values['eval_steps']
  if (raw['lr_scheduler_type'] === 'constant') delete values['warmup_ratio']
  for (const [name, value] of Object.entries(raw)) if (value !== undefined) values[name] = value
  return parseOptions({ ...values, preset })
}

export function isPresetName(name: unknown): name is PresetName {
  return PRESET_NAMES.some((known) => known === name)
}

function presetName(name: unknown): PresetName {
  if (isPresetName(name)) return name
  throw new OptionError('preset', name, { allowed: `one of ${PRESET_NAMES.join(', ')}` })
}

function isGiven(raw: Readonly<Record<string, unknown>>, name: OptionName): boolean {
  return raw[name] !== undefined
}
