import type { Engine } from '../engine/engine.ts'
import type { FlatValues } from '../engine/parameters.ts'
import { formatShape } from '../engine/tensor.ts'

export interface NamedTensor {
  readonly shape: readonly number[]
  /** Row-major. */
  readonly values: Float32Array
}

export interface LoadOptions {
  /** Whether a name that is missing may keep the value that it has. */
  readonly mayLack?: (name: string) => boolean
}

/**
 * Writes values by name into the places that a model's parameters have. @throws on a missing or an extra name or another shape, before
 * anything is written.
 */
export function loadTensors(engine: Engine, places: readonly FlatValues[], tensors: ReadonlyMap<string, NamedTensor>, { mayLack = () => false }: LoadOptions = {}): void {
  const extra = new Set(tensors.keys())
  const writes = places.flatMap(({ slots, values: storage }) =>
    slots.flatMap(({ name, shape, offset, length }) => {
      const tensor = tensors.get(name)
      extra.delete(name)
      if (!tensor && mayLack(name)) return []
      if (!tensor) throw new Error(`Cannot load the model: tensor ${name} is missing, need one of shape ${formatShape(shape)}`)
      if (formatShape(tensor.shape) !== formatShape(shape)) throw new Error(`Cannot load tensor ${name}: its shape is ${formatShape(tensor.shape)}, need ${formatShape(shape)}`)
      if (tensor.values.length !== length) throw new Error(`Cannot load tensor ${name}: it has ${tensor.values.length} values, need ${length}`)
      return [{ storage, offset, values: Float32Array.from(tensor.values) }]
    }),
  )
  if (extra.size > 0) throw new Error(`Cannot load the model: it has no parameter for ${[...extra].slice(0, 3).join(', ')} (${extra.size} extra)`)
  for (const { storage, offset, values } of writes) engine.write(storage, values, offset * 4)
}

/** The current values by name, in the order of places and parameters. */
export async function readTensors(engine: Engine, places: readonly FlatValues[]): Promise<Map<string, NamedTensor>> {
  const read = places.map(async (place) => [...splitSlots(place, new Float32Array(await engine.readBytes(place.values, place.elements * 4)))])
  return new Map((await Promise.all(read)).flat())
}

/** Views of a flat array (values, gradients or moments) by parameter name. */
export function splitSlots({ slots }: Pick<FlatValues, 'slots'>, flat: Float32Array): Map<string, NamedTensor> {
  return new Map(slots.map(({ name, shape, offset, length }) => [name, { shape, values: flat.subarray(offset, offset + length) }]))
}
