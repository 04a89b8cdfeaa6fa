import { normalArray } from '../base/random.ts'
import type { Engine } from '../engine/engine.ts'
import { type FlatParameters, type ParameterSlot, type ParameterSpec, createParameters, layOutParameters } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import { Tensor } from '../engine/tensor.ts'
import type { Module } from './module.ts'
import type { Weight } from './weight.ts'

/** Parameters without gradient, laid out as the others are. */
export interface FrozenWeights {
  readonly slots: readonly ParameterSlot[]
  readonly elements: number
  readonly values: Storage
}

export interface BoundModule {
  readonly name: string
  readonly weights: ReadonlyMap<string, Weight>
  /** Null when nothing requires a gradient. */
  readonly trainable: FlatParameters | null
  /** Null when everything requires one. */
  readonly frozen: FrozenWeights | null
}

/** Gives a module's parameters their memory and their first values. @throws when the module has none. */
export function bindModule(engine: Engine, model: Module, seed: number): BoundModule {
  const { name } = model.constructor
  const weights = model.namedWeights()
  if (weights.size === 0) throw new Error(`Cannot prepare ${name}: it has no parameters, need a Weight among its attributes or those of its modules`)
  const specs = (requiresGrad: boolean) => [...weights].filter(([, weight]) => weight.requiresGrad === requiresGrad).map(([at, { shape }]) => ({ name: at, shape }))
  const wanted = specs(true)
  const trainable = wanted.length > 0 ? createParameters(engine, wanted) : null
  const frozen = wanted.length < weights.size ? bindFrozen(engine, specs(false), weights) : null
  if (trainable) for (const [at, parameter] of trainable.byName) weights.get(at)?.bind(parameter)
  for (const part of [trainable, frozen]) {
    if (part) engine.write(part.values, initialValues(part, weights, seed))
  }
  return { name, weights, trainable, frozen }
}

function bindFrozen(engine: Engine, specs: readonly ParameterSpec[], weights: ReadonlyMap<string, Weight>): FrozenWeights {
  const layout = layOutParameters(specs)
  const values = engine.reserve(layout.elements * 4, 'frozen parameters')
  for (const { name, shape, offset, length } of layout.slots) weights.get(name)?.bind(new Tensor(engine, shape, engine.slice(values, offset * 4, length * 4)))
  return { ...layout, values }
}

function initialValues({ slots, elements }: Pick<FrozenWeights, 'slots' | 'elements'>, weights: ReadonlyMap<string, Weight>, seed: number): Float32Array<ArrayBuffer> {
  const flat = new Float32Array(elements)
  for (const { name, offset, length } of slots) {
    const initial = weights.get(name)?.initial
    if (initial?.kind === 'normal') flat.set(normalArray(seed, name, length, initial.standardDeviation), offset)
    if (initial?.kind === 'constant') flat.fill(initial.value, offset, offset + length)
  }
  return flat
}
