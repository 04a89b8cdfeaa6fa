import { ADAPTER_CONFIG_FILE, ADAPTER_FILE, type AdapterConfig, parseAdapterConfig } from '../checkpoint/adapter-config.ts'
import { type AdapterModule, readAdapter } from '../checkpoint/adapter-weights.ts'
import { type TokenizerFiles, readTokenizerFiles } from '../checkpoint/hf-folder.ts'
import { RUN_STATE_FILE, type RunState, parseRunState } from '../checkpoint/run-state.ts'
import { INDEX_FILE, joinShards, parseShardIndex } from '../checkpoint/shards.ts'

/** What a run starts from instead of random weights: a model's folder, or a checkpoint of a run. */
export interface StartFolder {
  /** config.json */
  readonly config: Readonly<Record<string, unknown>>
  /** Null when the folder has none. */
  readonly tokenizerFiles: TokenizerFiles | null
  /** What the model is called where it comes from: a path, or a repository; null when nobody knows. */
  readonly name: string | null
  /** A safetensors file. */
  readonly model: Uint8Array<ArrayBuffer>
  /** Trained beside the model's weights before; null when there is none. */
  readonly adapter: { readonly config: AdapterConfig; readonly modules: readonly AdapterModule[] } | null
  /** Of a checkpoint. */
  readonly resumed: { readonly optimizer: Uint8Array<ArrayBuffer>; readonly state: RunState } | null
}

/** A file of the folder by its name; null when there is none. */
export type ReadFile = (name: string) => Promise<Uint8Array<ArrayBuffer> | null>

const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json'] as const

export interface StartSource {
  readonly kind: 'weights' | 'checkpoint'
  readonly name?: string | null
  /** The model of a folder that has only an adapter. */
  readonly base?: StartFolder | null
}

/** @throws a sentence when a file is missing or does not read. */
export async function readStart(read: ReadFile, { kind, name = null, base = null }: StartSource): Promise<StartFolder> {
  const adapter = await readAdapterFiles(read)
  const model = adapter && (await read('config.json')) === null ? baseOf(adapter.config, base) : { ...(await readModel(read)), name }
  const tokenizer = await Promise.all(TOKENIZER_FILES.map(async (name) => ({ name, bytes: await read(name) })))
  const state = kind === 'checkpoint' ? parseRunState(await needJson(read, RUN_STATE_FILE)) : null
  return {
    ...model,
    adapter,
    tokenizerFiles: readTokenizerFiles(tokenizer.flatMap(({ name, bytes }) => (bytes ? [{ name, bytes }] : []))),
    resumed: state && { state, optimizer: await need(read, 'optimizer.safetensors') },
  }
}

async function readModel(read: ReadFile): Promise<Pick<StartFolder, 'config' | 'model'>> {
  return { config: await needJson(read, 'config.json'), model: (await read('model.safetensors')) ?? (await readShards(read)) }
}

async function readAdapterFiles(read: ReadFile): Promise<StartFolder['adapter']> {
  if ((await read(ADAPTER_CONFIG_FILE)) === null) return null
  const config = parseAdapterConfig(await needJson(read, ADAPTER_CONFIG_FILE))
  return { config, modules: readAdapter(await need(read, ADAPTER_FILE), config) }
}

function baseOf({ baseModel }: AdapterConfig, base: StartFolder | null): Pick<StartFolder, 'config' | 'model' | 'name'> {
  if (!base) throw new Error(`Cannot start: this is an adapter alone, need the model under it, ${baseModel ?? 'which it does not name'}`)
  return { config: base.config, model: base.model, name: base.name }
}

/** @throws with the file's name when it is missing, or holds something else than one JSON object. */
export async function needJson(read: ReadFile, name: string): Promise<Readonly<Record<string, unknown>>> {
  const json = parsed(name, await need(read, name))
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error(`Cannot read ${name}: it is no JSON object, need one`)
  return { ...json }
}

function parsed(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Error(`Cannot read ${name}: ${cause instanceof Error ? cause.message : String(cause)}, need JSON`, { cause })
  }
}

async function readShards(read: ReadFile): Promise<Uint8Array<ArrayBuffer>> {
  const index = parseShardIndex(await needJson(read, INDEX_FILE))
  return joinShards(index, new Map(await Promise.all(index.files.map(async (name) => [name, await need(read, name)] as const))))
}

async function need(read: ReadFile, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await read(name)
  if (!bytes) throw new Error(`Cannot start: ${name} is missing, need it`)
  return bytes
}
