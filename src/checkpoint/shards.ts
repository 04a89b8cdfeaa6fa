import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'

export const INDEX_FILE = 'model.safetensors.index.json'

/** Shards lie beside their index: a name with a path would reach other files. */
const SHARD = /^[\w][\w.-]*\.safetensors$/

/** Which file of a sharded model has which tensor. */
export interface ShardIndex {
  readonly files: readonly string[]
  readonly fileOf: ReadonlyMap<string, string>
}

/** @throws with the first entry that is wrong. */
export function parseShardIndex(json: unknown): ShardIndex {
  const { weight_map: map }: { readonly weight_map?: unknown } = Object(json)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) throw new Error(`Cannot read ${INDEX_FILE}: it has no weight_map, need one`)
  const fileOf = new Map<string, string>()
  for (const [tensor, file] of Object.entries(map)) {
    if (typeof file !== 'string' || !SHARD.test(file))
      throw new Error(`Cannot read ${INDEX_FILE}: tensor ${tensor} is in ${JSON.stringify(file)}, need the name of a .safetensors file beside it`)
    fileOf.set(tensor, file)
  }
  if (fileOf.size === 0) throw new Error(`Cannot read ${INDEX_FILE}: its weight_map is empty, need at least one tensor`)
  return { files: [...new Set(fileOf.values())], fileOf }
}

/**
 * One safetensors file of all shards. Unlike transformers, which overwrites or makes up tensors, it takes only what index and shards agree on.
 * @throws with the tensor and its file.
 */
export function joinShards({ files, fileOf }: ShardIndex, read: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const tensors = new Map<string, RawTensor>()
  for (const file of files) {
    const bytes = read.get(file)
    if (!bytes) throw new Error(`Cannot read the model: ${file} is missing, need it as ${INDEX_FILE} says`)
    for (const [name, tensor] of tensorsOf(file, bytes)) {
      const expected = fileOf.get(name)
      if (expected !== file) throw new Error(`Cannot read ${file}: it has tensor ${name}, need it ${expected === undefined ? `in ${INDEX_FILE} too` : `in ${expected} only`}`)
      tensors.set(name, tensor)
    }
  }
  for (const [name, file] of fileOf) if (!tensors.has(name)) throw new Error(`Cannot read ${file}: tensor ${name} is missing, need it as ${INDEX_FILE} says`)
  return writeSafetensors(tensors)
}

function tensorsOf(file: string, bytes: Uint8Array): ReadonlyMap<string, RawTensor> {
  try {
    return readSafetensors(bytes).tensors
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
