import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import type { Optimizer } from './optimizer.ts'

/**
 * Hex SHA-256 of SHA-256(parameters), SHA-256 of each part of the optimizer's state and the step count (u32, little-endian): equal on
 * two ranks only when their next update is equal. Hashed in parts, so that no copy of all is made.
 */
export async function stateHash(engine: Engine, parameters: FlatParameters, optimizer: Optimizer): Promise<string> {
  const storages = [parameters.values, ...optimizer.state.map(({ storage }) => storage)]
  const joined = new Uint8Array(storages.length * 32 + 4)
  for (const [index, storage] of storages.entries()) {
    const mapped = await engine.mapBytes(storage, parameters.elements * 4)
    try {
      joined.set(new Uint8Array(await crypto.subtle.digest('SHA-256', mapped.range)), index * 32)
    } finally {
      mapped.close()
    }
  }
  new DataView(joined.buffer).setUint32(storages.length * 32, optimizer.committed, true)
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', joined)))
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
