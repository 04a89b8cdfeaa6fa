import type { Engine } from '../engine/engine.ts'
import { createFrozen, createParameters, type FlatParameters, type FlatValues, type FrozenParameters } from '../engine/parameters.ts'
import type { Tensor } from '../engine/tensor.ts'
import type { Layer } from './layer.ts'
import { createAdapter } from './lora.ts'
import { type ModelLayout, planParameters, type Training } from './parameter-plan.ts'

/** A model's parameters in their two places, with the adapters that were asked for. */
export interface ModelParameters {
  readonly trainable: FlatParameters
  /** Null when everything trains. */
  readonly frozen: FrozenParameters | null
  /** A module by its name. @throws when the model has no such weight. */
  layer(name: string): Layer
}

/** Values are zero. @throws as `planParameters`. */
export function createModelParameters(engine: Engine, layout: ModelLayout, training: Training): ModelParameters {
  const plan = planParameters(layout, training)
  const trainable = createParameters(engine, plan.trainable)
  const frozen = plan.frozen.length > 0 ? createFrozen(engine, plan.frozen) : null
  const find = (name: string): Tensor | null => trainable.byName.get(name) ?? frozen?.byName.get(name) ?? null
  const need = (name: string): Tensor => {
    const found = find(name)
    if (!found) throw new Error(`Cannot build the model: parameter ${name} is missing`)
    return found
  }
  const { lora } = training
  const adapters = new Map(lora ? plan.adapted.map(({ name }) => [name, createAdapter(engine, name, need, lora)] as const) : [])
  return {
    trainable,
    frozen,
    layer: (name) => ({ weight: need(`${name}.weight`), bias: find(`${name}.bias`), adapter: adapters.get(name) ?? null }),
  }
}

/** Where all of a model's values are. */
export function valuesOf({ parameters, frozen }: { readonly parameters: FlatParameters; readonly frozen: FrozenParameters | null }): FlatValues[] {
  return frozen ? [parameters, frozen] : [parameters]
}
