import { readTokenizerFiles } from '../checkpoint/hf-folder.ts'
import { RUN_STATE_FILE, parseRunState } from '../checkpoint/run-state.ts'
import { INDEX_FILE, joinShards, parseShardIndex } from '../checkpoint/shards.ts'
import type { KeepCheckpoint } from './checkpoint-keeper.ts'
import type { StartFolder } from './start-folder.ts'

/** Files of the command line that opened this page, behind `base` on its server. */

const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json'] as const

/** @throws a sentence when a file is missing or does not read. */
export async function fetchStart(base: string, kind: 'weights' | 'checkpoint'): Promise<StartFolder> {
  const config: unknown = JSON.parse(new TextDecoder().decode(await need(base, 'config.json')))
  if (!isRecord(config)) throw new Error('Cannot read config.json: it is no JSON object, need one')
  const tokenizer = await Promise.all(TOKENIZER_FILES.map(async (name) => ({ name, bytes: await get(base, name) })))
  const state = kind === 'checkpoint' ? parseRunState(JSON.parse(new TextDecoder().decode(await need(base, RUN_STATE_FILE)))) : null
  return {
    config,
    tokenizerFiles: readTokenizerFiles(tokenizer.flatMap(({ name, bytes }) => (bytes ? [{ name, bytes }] : []))),
    model: (await get(base, 'model.safetensors')) ?? (await fetchShards(base)),
    resumed: state && { state, optimizer: await need(base, 'optimizer.safetensors') },
  }
}

async function fetchShards(base: string): Promise<Uint8Array<ArrayBuffer>> {
  const index = parseShardIndex(JSON.parse(new TextDecoder().decode(await need(base, INDEX_FILE))))
  return joinShards(index, new Map(await Promise.all(index.files.map(async (name) => [name, await need(base, name)] as const))))
}

/** Hands checkpoints to the command line, which writes their folders. */
export function keepAt(base: string): KeepCheckpoint {
  return async (name, files) => {
    const query = new URLSearchParams(files.map((file) => ['file', `${file.name}:${file.bytes.byteLength}`]))
    const body = new Blob(files.map(({ bytes }) => bytes as Uint8Array<ArrayBuffer>)) // none is shared memory
    const response = await fetch(`${base}/${name}?${query}`, { method: 'PUT', body })
    if (!response.ok) throw new Error(await response.text())
  }
}

async function need(base: string, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await get(base, name)
  if (!bytes) throw new Error(`Cannot start: ${name} is missing, need it`)
  return bytes
}

async function get(base: string, name: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const response = await fetch(`${base}/${name}`)
  if (response.status === 404) return null
  if (!response.ok) throw new Error(`Cannot read ${name}: ${await response.text()}`)
  return new Uint8Array(await response.arrayBuffer())
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
