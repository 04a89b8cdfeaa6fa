import { normalArray, uniformArray } from '../../base/random.ts'
import type { Engine } from '../../engine/engine.ts'
import type { FlatValues, ParameterSlot } from '../../engine/parameters.ts'
import { isAdapterParameter, startsAtZero } from '../lora.ts'
import type { ModelConfig } from './families.ts'

/**
 * Initial weights, each tensor from its own stream of `seed`: norms 1 and 0, biases 0, weights normal with `initializerRange`;
 * GPT-2's projections into the residual stream divided by sqrt(2 * layers) (transformers' `_init_weights`). Adapters as below.
 */
export function initialiseModel(engine: Engine, places: readonly FlatValues[], config: ModelConfig, seed: number): void {
  for (const { slots, elements, values } of places) {
    const flat = new Float32Array(elements)
    for (const slot of slots) flat.set(isAdapterParameter(slot.name) ? adapterValues(slot, seed) : weightValues(slot, config, seed), slot.offset)
    engine.write(values, flat)
  }
}

/** Leaves a model's other values as they are. */
export function initialiseAdapters(engine: Engine, places: readonly FlatValues[], seed: number): void {
  for (const { slots, values } of places) {
    for (const slot of slots) if (isAdapterParameter(slot.name)) engine.write(values, adapterValues(slot, seed), slot.offset * 4)
  }
}

/** PEFT's `reset_lora_parameters`: A uniform within 1 / sqrt(inputs), which is Kaiming's with a = sqrt(5); B zero. */
function adapterValues({ name, shape, length }: ParameterSlot, seed: number): Float32Array<ArrayBuffer> {
  return startsAtZero(name) ? new Float32Array(length) : uniformArray(seed, name, length, 1 / Math.sqrt(shape[1] ?? 1))
}

function weightValues({ name, shape, length }: ParameterSlot, config: ModelConfig, seed: number): Float32Array<ArrayBuffer> {
  if (shape.length >= 2) return normalArray(seed, name, length, standardDeviation(name, config))
  return new Float32Array(length).fill(name.endsWith('.weight') ? 1 : 0)
}

function standardDeviation(name: string, { kind, initializerRange, layers }: ModelConfig): number {
  return kind === 'gpt2' && name.endsWith('.c_proj.weight') ? initializerRange / Math.sqrt(2 * layers) : initializerRange
}
