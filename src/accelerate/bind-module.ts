import { normalArray } from '../base/random.ts'
import type { Engine } from '../engine/engine.ts'
import { createFrozen, createParameters, type FlatParameters, type FlatValues, type FrozenParameters } from '../engine/parameters.ts'
import type { Module } from './module.ts'
import type { Weight } from './weight.ts'

export interface BoundModule {
  readonly name: string
  readonly weights: ReadonlyMap<string, Weight>
  /** Null when nothing requires a gradient. */
  readonly trainable: FlatParameters | null
  /** Null when everything requires one. */
  readonly frozen: FrozenParameters | null
}

/** Gives a module's parameters their memory and their first values. @throws when the module has none. */
export function bindModule(engine: Engine, model: Module, seed: number): BoundModule {
  const { name } = model.constructor
  const weights = model.namedWeights()
  if (weights.size === 0) throw new Error(`Cannot prepare ${name}: it has no parameters, need a Weight among its attributes or those of its modules`)
  const specs = (requiresGrad: boolean) => [...weights].filter(([, weight]) => weight.requiresGrad === requiresGrad).map(([at, { shape }]) => ({ name: at, shape }))
  const wanted = specs(true)
  const trainable = wanted.length > 0 ? createParameters(engine, wanted) : null
  const frozen = wanted.length < weights.size ? createFrozen(engine, specs(false)) : null
  for (const part of [trainable, frozen]) {
    if (!part) continue
    for (const [at, tensor] of part.byName) weights.get(at)?.bind(tensor)
    engine.write(part.values, initialValues(part, weights, seed))
  }
  return { name, weights, trainable, frozen }
}

function initialValues({ slots, elements }: FlatValues, weights: ReadonlyMap<string, Weight>, seed: number): Float32Array<ArrayBuffer> {
  const flat = new Float32Array(elements)
  for (const { name, offset, length } of slots) {
    const initial = weights.get(name)?.initial
    if (initial?.kind === 'normal') flat.set(normalArray(seed, name, length, initial.standardDeviation), offset)
    if (initial?.kind === 'constant') flat.fill(initial.value, offset, offset + length)
  }
  return flat
}
