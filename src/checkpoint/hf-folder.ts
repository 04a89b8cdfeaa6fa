import { ADAPTER_CONFIG_FILE, ADAPTER_FILE } from './adapter-config.ts'
import { floatValues } from './float-tensors.ts'
import { readSafetensors } from './safetensors.ts'

/** A file of a Hugging Face folder; names have no directories. */
export interface FolderFile {
  readonly name: string
  readonly bytes: Uint8Array
}

type Json = Readonly<Record<string, unknown>>

export interface ModelParts {
  readonly config: Json
  readonly generationConfig: Json
  /** A safetensors file. */
  readonly weights: Uint8Array
  /** Null when nobody knows the texts of the ids. */
  readonly tokenizerFiles: TokenizerFiles | null
  readonly trainerState: Json
  readonly trainingArgs: Json
  /** Markdown. */
  readonly modelCard: string
}

export interface TokenizerFiles {
  readonly 'tokenizer.json': Json
  readonly 'tokenizer_config.json': Json
}

const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json'] as const

/** An adapter as PEFT lays it out; the model that it adapts lies elsewhere. */
export interface AdapterParts extends Omit<ModelParts, 'config' | 'generationConfig'> {
  readonly adapterConfig: Json
}

export function adapterFolder(parts: AdapterParts): FolderFile[] {
  return [cardFile(parts), jsonFile(ADAPTER_CONFIG_FILE, parts.adapterConfig), { name: ADAPTER_FILE, bytes: parts.weights }, ...runFiles(parts)]
}

/** A trained model as Hugging Face lays it out. */
export function modelFolder(parts: ModelParts): FolderFile[] {
  return [
    cardFile(parts),
    jsonFile('config.json', parts.config),
    jsonFile('generation_config.json', parts.generationConfig),
    { name: 'model.safetensors', bytes: parts.weights },
    ...runFiles(parts),
  ]
}

type RunParts = Pick<ModelParts, 'tokenizerFiles' | 'trainerState' | 'trainingArgs' | 'modelCard'>

function cardFile({ modelCard }: RunParts): FolderFile {
  return { name: 'README.md', bytes: new TextEncoder().encode(modelCard) }
}

function runFiles({ tokenizerFiles: files, trainerState, trainingArgs }: RunParts): FolderFile[] {
  const tokenizer = files ? TOKENIZER_FILES.map((name) => jsonFile(name, files[name])) : []
  return [...tokenizer, jsonFile('trainer_state.json', trainerState), jsonFile('training_args.json', trainingArgs)]
}

export interface LoadedModel {
  readonly config: Json
  /** By name; row-major f32, whatever the file's type. */
  readonly tensors: Map<string, { readonly shape: readonly number[]; readonly values: Float32Array<ArrayBuffer> }>
  /** Null when the folder has none. */
  readonly tokenizerFiles: TokenizerFiles | null
}

/**
 * Reads a Hugging Face folder with one safetensors file; names may share a leading directory.
 * @throws with the file's name.
 */
export function readModelFolder(files: readonly FolderFile[]): LoadedModel {
  const byName = new Map(files.map(({ name, bytes }) => [name.slice(name.lastIndexOf('/') + 1), bytes]))
  if (byName.size < files.length) throw new Error('Cannot read the model folder: two of its files have one name, need a single folder')
  const config = requiredJson(byName, 'config.json')
  const weights = byName.get('model.safetensors')
  if (!weights) throw new Error(`Cannot read the model folder: model.safetensors is missing${insteadOfWeights(byName)}, need it as one file`)
  const tensors: LoadedModel['tensors'] = new Map()
  for (const [name, tensor] of readSafetensors(weights).tensors) tensors.set(name, { shape: tensor.shape, values: floatValues(name, tensor) })
  return { config, tensors, tokenizerFiles: readTokenizerFiles([...byName].map(([name, bytes]) => ({ name, bytes }))) }
}

/** Null when the files have no tokenizer.json. */
export function readTokenizerFiles(files: readonly FolderFile[]): TokenizerFiles | null {
  const byName = new Map(files.map(({ name, bytes }) => [name, bytes]))
  if (!byName.has('tokenizer.json')) return null
  const config = byName.has('tokenizer_config.json') ? requiredJson(byName, 'tokenizer_config.json') : {}
  return { 'tokenizer.json': requiredJson(byName, 'tokenizer.json'), 'tokenizer_config.json': config }
}

function insteadOfWeights(byName: ReadonlyMap<string, Uint8Array>): string {
  const other = [...byName.keys()].find((name) => /\.(bin|safetensors\.index\.json|safetensors|gguf|h5|msgpack)$/.test(name))
  return other === undefined ? '' : ` (there is ${other})`
}

function requiredJson(byName: ReadonlyMap<string, Uint8Array>, name: string): Json {
  const bytes = byName.get(name)
  if (!bytes) throw new Error(`Cannot read the model folder: ${name} is missing, need it`)
  const value = parse(name, bytes)
  if (!isRecord(value)) throw new Error(`Cannot read ${name}: it is no JSON object, need one`)
  return value
}

function parse(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Error(`Cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}, need JSON`, { cause })
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function jsonFile(name: string, value: Json): FolderFile {
  return { name, bytes: new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`) }
}
