import type { Engine } from '../engine/engine.ts'
import type { FlatParameters, FrozenParameters } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import type { Optimizer } from './optimizer.ts'

/**
 * Hex SHA-256 of SHA-256(parameters), SHA-256 of each part of the optimizer's state, the step count (u32, little-endian) and, where there
 * are frozen parameters, their digest: equal on two ranks only when their next update is equal. Hashed in parts, so that no copy of all is made.
 */
export async function stateHash(engine: Engine, parameters: FlatParameters, optimizer: Optimizer, frozen: Uint8Array | null = null): Promise<string> {
  const storages = [parameters.values, ...optimizer.state.map(({ storage }) => storage)]
  const joined = new Uint8Array(storages.length * 32 + 4 + (frozen?.length ?? 0))
  for (const [index, storage] of storages.entries()) joined.set(await digest(engine, storage, parameters.elements), index * 32)
  new DataView(joined.buffer).setUint32(storages.length * 32, optimizer.committed, true)
  if (frozen) joined.set(frozen, storages.length * 32 + 4)
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', joined)))
}

/** For `stateHash`: they do not change, so once is enough. */
export function frozenDigest(engine: Engine, { values, elements }: FrozenParameters): Promise<Uint8Array> {
  return digest(engine, values, elements)
}

async function digest(engine: Engine, storage: Storage, elements: number): Promise<Uint8Array> {
  const mapped = await engine.mapBytes(storage, elements * 4)
  try {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', mapped.range))
  } finally {
    mapped.close()
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
