import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import type { AdamW } from './adamw.ts'

/** Everything that the next update depends on; the arrays are the flat buffers, padding included. */
export interface TrainingState {
  readonly values: Float32Array<ArrayBuffer>
  readonly firstMoments: Float32Array<ArrayBuffer>
  readonly secondMoments: Float32Array<ArrayBuffer>
  readonly committed: number
}

export async function readTrainingState(engine: Engine, parameters: FlatParameters, optimizer: AdamW): Promise<TrainingState> {
  const read = async (storage: Storage) => new Float32Array(await engine.readBytes(storage, parameters.elements * 4))
  const { firstMoments: firsts, secondMoments: seconds, committed } = optimizer
  const [values, firstMoments, secondMoments] = await Promise.all([read(parameters.values), read(firsts), read(seconds)])
  return { values, firstMoments, secondMoments, committed }
}

/** @throws when an array is not as long as the flat buffers, before anything is written. */
export function writeTrainingState(engine: Engine, parameters: FlatParameters, optimizer: AdamW, state: TrainingState): void {
  for (const name of ['values', 'firstMoments', 'secondMoments'] as const) {
    const { length } = state[name]
    if (length !== parameters.elements) throw new Error(`Cannot restore ${name}: ${length} elements, need ${parameters.elements}`)
  }
  engine.write(parameters.values, state.values)
  engine.write(optimizer.firstMoments, state.firstMoments)
  engine.write(optimizer.secondMoments, state.secondMoments)
  optimizer.committed = state.committed
}
