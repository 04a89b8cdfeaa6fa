import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ADAPTER_CONFIG_FILE } from '../checkpoint/adapter-config.ts'
import { INDEX_FILE, parseShardIndex } from '../checkpoint/shards.ts'
import { tokenizerKind } from '../checkpoint/tokenizer-kind.ts'
import { OptionError, type OptionName, type TrainingOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { pageFiles, type RawOptions, readObject, type RunStart } from './run-start.ts'
import { statPath } from './stat-path.ts'

/** Keys of config.json for each size, GPT-2's first. */
const SIZES = {
  n_layer: ['n_layer', 'num_hidden_layers'],
  n_embd: ['n_embd', 'hidden_size'],
  n_head: ['n_head', 'num_attention_heads'],
  num_key_value_heads: ['num_key_value_heads'],
  n_inner: ['n_inner', 'intermediate_size'],
} as const satisfies Partial<Record<OptionName, readonly string[]>>
const POSITIONS = ['n_positions', 'max_position_embeddings'] as const
/** Longest block that is taken without being asked for, as in run_clm.py. */
const LONGEST_BLOCK = 1_024

type Config = Readonly<Record<string, unknown>>

/**
 * Reads a Hugging Face folder whose weights a run starts from: its config.json gives the sizes, and its tokenizer.json, if it has one,
 * the tokens. Other options start from Hugging Face's defaults, unless a preset is asked for.
 * @throws OptionError when the folder is not one, or a given option contradicts it.
 */
export function modelStart(path: string, raw: RawOptions): RunStart {
  const folder = resolve(path)
  checkFolder(path, folder)
  const config = readObject(folder, 'config.json')
  const options = resolveOptions({
    preset: 'none',
    ...raw,
    ...family(config, path, raw),
    ...sizes(config, path, raw),
    ...tokens(folder, path, { config, raw }),
    block_size: blockSize(config, path, raw),
  })
  return { kind: 'weights', folder, files: pageFiles(folder), options, state: null, baseModel: path }
}

/** @throws OptionError when it is no folder of a model with all of its weights. */
export function checkFolder(path: string, folder: string): void {
  if (path === '' || !statPath(folder)?.isDirectory()) throw new OptionError('model', path, { allowed: 'the folder of a model' })
  if (!existsSync(join(folder, 'config.json')) && existsSync(join(folder, ADAPTER_CONFIG_FILE)))
    throw new OptionError('model', path, { allowed: 'the folder of a model; this is an adapter, which --adapter takes' })
  if (!existsSync(join(folder, 'config.json'))) throw new OptionError('model', path, { allowed: 'a folder with config.json' })
  if (existsSync(join(folder, 'model.safetensors'))) return
  if (existsSync(join(folder, INDEX_FILE))) return checkShards(path, folder)
  const other = readdirSync(folder).find((name) => /\.(bin|safetensors|safetensors\.index\.json|gguf|h5|msgpack)$/.test(name))
  throw new OptionError('model', path, { allowed: `a folder with model.safetensors, or its shards and ${INDEX_FILE}${other ? `; it has ${other}` : ''}` })
}

function checkShards(path: string, folder: string): void {
  const missing = parseShardIndex(readObject(folder, INDEX_FILE)).files.find((name) => !existsSync(join(folder, name)))
  if (missing !== undefined) throw new OptionError('model', path, { allowed: `a folder with all shards that ${INDEX_FILE} names; ${missing} is missing` })
}

/** Configs of Mistral and Qwen2 are Llama's with some switches. */
function family(config: Config, path: string, raw: RawOptions): Partial<Record<OptionName, unknown>> {
  const type = config['model_type']
  const name = type === 'mistral' || type === 'qwen2' ? 'llama' : type
  const given = raw['model_type']
  if (typeof name !== 'string') return {}
  if (given !== undefined && given !== name) throw new OptionError('model_type', given, { allowed: `${name}, as in config.json of ${path}` })
  return { model_type: name }
}

function sizes(config: Config, path: string, raw: RawOptions): Partial<Record<OptionName, unknown>> {
  const found = Object.entries(SIZES).map(([option, keys]) => [option, firstOf(config, keys) ?? null] as const)
  const known: Readonly<Record<string, unknown>> = Object.fromEntries(found.filter(([option, value]) => value !== null || option === 'n_inner'))
  for (const [option, size] of Object.entries(known)) {
    const given = raw[option]
    const effective = size ?? 4 * Number(known['n_embd'])
    if (given === undefined || Number(given) === effective || (size === null && given === '')) continue
    throw new OptionError(option, given, { allowed: `${String(effective)}, as in config.json of ${path}` })
  }
  const spread = config['initializer_range']
  return { ...known, ...(raw['initializer_range'] === undefined && typeof spread === 'number' ? { initializer_range: spread } : {}) }
}

function blockSize(config: Config, path: string, raw: RawOptions): unknown {
  const positions = Number(firstOf(config, POSITIONS) ?? LONGEST_BLOCK)
  const given = raw['block_size']
  if (given === undefined) return Math.min(positions, LONGEST_BLOCK)
  if (Number(given) > positions) throw new OptionError('block_size', given, { allowed: `at most ${positions}, the positions in config.json of ${path}` })
  return given
}

function tokens(folder: string, path: string, { config, raw }: { readonly config: Config; readonly raw: RawOptions }): Partial<TrainingOptions> {
  const given = raw['tokenizer']
  // Without one, only rows of token ids can be read, unless a person wants new tokens.
  if (!existsSync(join(folder, 'tokenizer.json'))) return given === undefined ? { tokenizer: 'file' } : {}
  const tokenizer = tokenizerKind(readObject(folder, 'tokenizer.json')) ?? 'file'
  if (given !== undefined && given !== tokenizer) throw new OptionError('tokenizer', given, { allowed: `${tokenizer}, as in tokenizer.json of ${path}` })
  const size = config['vocab_size']
  if (tokenizer !== 'bpe' || typeof size !== 'number') return { tokenizer }
  if (raw['vocab_size'] !== undefined && Number(raw['vocab_size']) !== size)
    throw new OptionError('vocab_size', raw['vocab_size'], { allowed: `${size}, as in config.json of ${path}` })
  return { tokenizer, vocab_size: size }
}

function firstOf(config: Config, keys: readonly string[]): unknown {
  return keys.map((key) => config[key]).find((value) => value !== undefined && value !== null)
}
