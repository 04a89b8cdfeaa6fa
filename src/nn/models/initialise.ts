import { normalArray } from '../../base/random.ts'
import type { Engine } from '../../engine/engine.ts'
import type { FlatParameters } from '../../engine/parameters.ts'
import type { ModelConfig } from './families.ts'

/**
 * Initial weights, each tensor from its own stream of `seed`: norms 1 and 0, biases 0, weights normal with `initializerRange`;
 * GPT-2's projections into the residual stream divided by sqrt(2 * layers) (transformers' `_init_weights`).
 */
export function initialiseModel(engine: Engine, parameters: FlatParameters, config: ModelConfig, seed: number): void {
  const flat = new Float32Array(parameters.elements)
  for (const { name, shape, offset, length } of parameters.slots) {
    const part = flat.subarray(offset, offset + length)
    if (shape.length >= 2) part.set(normalArray(seed, name, length, standardDeviation(name, config)))
    else if (name.endsWith('.weight')) part.fill(1)
  }
  engine.write(parameters.values, flat)
}

function standardDeviation(name: string, { kind, initializerRange, layers }: ModelConfig): number {
  return kind === 'gpt2' && name.endsWith('.c_proj.weight') ? initializerRange / Math.sqrt(2 * layers) : initializerRange
}
