import type { Engine } from './engine.ts'
import type { Storage } from './storage.ts'
import { Parameter, Tensor, elementCount } from './tensor.ts'

export interface ParameterSpec {
  readonly name: string
  readonly shape: readonly number[]
}

/** Elements between slot starts: 256 bytes, the largest minimum storage-buffer offset alignment that WebGPU allows. */
export const SLOT_ELEMENTS = 64

export interface ParameterSlot extends ParameterSpec {
  /** First element in the flat buffers; a multiple of 64. */
  readonly offset: number
  /** Elements without padding. */
  readonly length: number
}

/** Values in one flat buffer with 256-byte slots. Padding is zero and stays zero. */
export interface FlatValues {
  readonly slots: readonly ParameterSlot[]
  /** Elements of each flat buffer, padding included; a multiple of 64. */
  readonly elements: number
  readonly values: Storage
}

/**
 * Trainable parameters: gradients and the optimizer's state are laid out as the values are, so the optimizer is one dispatch, and a
 * bucket of neighbouring parameters leaves in one copy.
 */
export interface FlatParameters extends FlatValues {
  readonly byName: ReadonlyMap<string, Parameter>
  readonly gradients: Storage
}

/** Parameters that nothing changes: no gradients, no moments, and no part in the ring. */
export interface FrozenParameters extends FlatValues {
  readonly byName: ReadonlyMap<string, Tensor>
}

/** Slots in the order given: put first what the backward reaches last, so that buckets fill from the end. */
export function layOutParameters(specs: readonly ParameterSpec[]): { slots: ParameterSlot[]; elements: number } {
  let offset = 0
  const slots = specs.map((spec) => {
    const length = elementCount(spec.shape)
    const slot = { ...spec, offset, length }
    offset += Math.ceil(length / SLOT_ELEMENTS) * SLOT_ELEMENTS
    return slot
  })
  return { slots, elements: offset }
}

export function createParameters(engine: Engine, specs: readonly ParameterSpec[]): FlatParameters {
  const { slots, elements } = layOutParameters(specs)
  const values = engine.reserve(elements * 4, 'parameters')
  const gradients = engine.reserve(elements * 4, 'gradients')
  const byName = new Map<string, Parameter>()
  for (const { name, shape, offset, length } of slots) {
    if (byName.has(name)) throw new Error(`Cannot create parameter ${name}: the name is taken`)
    const gradient = new Tensor(engine, shape, engine.slice(gradients, offset * 4, length * 4))
    byName.set(name, new Parameter(engine, name, shape, engine.slice(values, offset * 4, length * 4), gradient))
  }
  return { slots, byName, elements, values, gradients }
}

/** Tensors that require no gradient. */
export function createFrozen(engine: Engine, specs: readonly ParameterSpec[]): FrozenParameters {
  const layout = layOutParameters(specs)
  const values = engine.reserve(layout.elements * 4, 'frozen parameters')
  const tensors = layout.slots.map(({ name, shape, offset, length }) => [name, new Tensor(engine, shape, engine.slice(values, offset * 4, length * 4))] as const)
  return { ...layout, values, byName: new Map(tensors) }
}
