import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { formatShape } from '../engine/tensor.ts'

export interface NamedTensor {
  readonly shape: readonly number[]
  /** Row-major. */
  readonly values: Float32Array
}

/** Writes values by name. @throws on a missing or an extra name or another shape, before anything is written. */
export function loadTensors(engine: Engine, parameters: FlatParameters, tensors: ReadonlyMap<string, NamedTensor>): void {
  const flat = new Float32Array(parameters.elements)
  const extra = new Set(tensors.keys())
  for (const { name, shape, offset, length } of parameters.slots) {
    const tensor = tensors.get(name)
    if (!tensor) throw new Error(`Cannot load the model: tensor ${name} is missing, need one of shape ${formatShape(shape)}`)
    if (formatShape(tensor.shape) !== formatShape(shape)) throw new Error(`Cannot load tensor ${name}: its shape is ${formatShape(tensor.shape)}, need ${formatShape(shape)}`)
    if (tensor.values.length !== length) throw new Error(`Cannot load tensor ${name}: it has ${tensor.values.length} values, need ${length}`)
    flat.set(tensor.values, offset)
    extra.delete(name)
  }
  if (extra.size > 0) throw new Error(`Cannot load the model: it has no parameter for ${[...extra].slice(0, 3).join(', ')} (${extra.size} extra)`)
  engine.write(parameters.values, flat)
}

/** The current values by name, in the parameters' order. */
export async function readTensors(engine: Engine, parameters: FlatParameters): Promise<Map<string, NamedTensor>> {
  return splitSlots(parameters, new Float32Array(await engine.readBytes(parameters.values, parameters.elements * 4)))
}

/** Views of a flat array (values, gradients or moments) by parameter name. */
export function splitSlots({ slots }: FlatParameters, flat: Float32Array): Map<string, NamedTensor> {
  return new Map(slots.map(({ name, shape, offset, length }) => [name, { shape, values: flat.subarray(offset, offset + length) }]))
}
