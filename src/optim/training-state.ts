import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import type { Optimizer } from './optimizer.ts'

/** Everything that the next update depends on; the arrays are the flat buffers, padding included. */
export interface TrainingState {
  readonly values: Float32Array<ArrayBuffer>
  /** What the optimizer remembers, in its order. */
  readonly optimizer: readonly Float32Array<ArrayBuffer>[]
  readonly committed: number
}

export async function readTrainingState(engine: Engine, parameters: FlatParameters, { state, committed }: Optimizer): Promise<TrainingState> {
  const read = async (storage: Storage) => new Float32Array(await engine.readBytes(storage, parameters.elements * 4))
  const [values, ...optimizer] = await Promise.all([read(parameters.values), ...state.map(({ storage }) => read(storage))])
  return { values, optimizer, committed }
}

/** @throws when an array is not as long as the flat buffers, before anything is written. */
export function writeTrainingState(engine: Engine, parameters: FlatParameters, optimizer: Optimizer, state: TrainingState): void {
  const parts = [{ name: 'values', storage: parameters.values }, ...optimizer.state]
  const arrays = [state.values, ...state.optimizer]
  if (arrays.length !== parts.length) throw new Error(`Cannot restore the optimizer: it has ${arrays.length - 1} arrays, need ${parts.length - 1}`)
  for (const [index, { name }] of parts.entries()) {
    const length = arrays[index]?.length
    if (length !== parameters.elements) throw new Error(`Cannot restore ${name}: ${length} elements, need ${parameters.elements}`)
  }
  for (const [index, { storage }] of parts.entries()) {
    const values = arrays[index]
    if (values) engine.write(storage, values)
  }
  optimizer.committed = state.committed
}
