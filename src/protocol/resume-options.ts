import { OptionError, type OptionName, optionFields, type TrainingOptions } from './options.ts'
import { resolveOptions } from './presets.ts'

type RawOptions = Readonly<Record<string, unknown>>

/** What a checkpoint says of the run that it is of. */
export interface SavedRun {
  /** `checkpoint-N` */
  readonly name: string
  /** training_args.json */
  readonly options: RawOptions
  /** Windows done. */
  readonly update: number
}

/** What a run cannot change and still be the same run: the model, the tokens, and which samples an update takes. */
const FIXED: readonly OptionName[] = [
  ...optionFields.filter(({ group, name }) => (group === 'model' || group === 'tuning') && name !== 'initializer_range').map(({ name }) => name),
  'tokenizer',
  'vocab_size',
  'block_size',
  'validation_split_percentage',
  'train_sampling_strategy',
  'seed',
  'global_batch_size',
  'optim',
  'momentum',
  'per_device_train_batch_size',
]

/**
 * The options of a run that goes on: what is not given is as the checkpoint has it.
 * @throws OptionError when a given option contradicts the checkpoint.
 */
export function resumedOptions(saved: SavedRun, raw: RawOptions): TrainingOptions {
  const options = merged(saved, raw)
  if (options.max_steps > 0 && saved.update >= options.max_steps) {
    throw new OptionError('max_steps', options.max_steps, { allowed: `more than ${saved.update}, the updates that ${saved.name} has done` })
  }
  return options
}

function merged(saved: SavedRun, raw: RawOptions): TrainingOptions {
  const before = resolveOptions(saved.options)
  const samePreset = raw['preset'] === undefined || raw['preset'] === before.preset
  const base: Record<string, unknown> = { ...saved.options }
  // The updates that the checkpoint's run had would win over the epochs that are asked for.
  if (raw['num_train_epochs'] !== undefined) delete base['max_steps']
  const wanted = samePreset ? resolveOptions({ ...base, ...raw }) : resolveOptions(raw)
  for (const name of FIXED) {
    const given = samePreset ? raw[name] !== undefined : wanted[name] !== null
    if (!given || wanted[name] === before[name] || (name === 'vocab_size' && before.tokenizer !== 'bpe')) continue
    throw new OptionError(name, wanted[name], { allowed: `${String(before[name] ?? 'nothing')}, with which ${saved.name} was trained` })
  }
  return samePreset ? wanted : resolveOptions({ ...base, ...raw })
}
