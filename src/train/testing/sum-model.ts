import type { Engine } from '../../engine/engine.ts'
import type { Kernel } from '../../engine/kernel.ts'
import { createParameters } from '../../engine/parameters.ts'
import type { CausalModel } from '../../nn/model.ts'
import type { MicroBatch } from '../batch-source.ts'

const sum: Kernel = {
  name: 'sum-ids',
  source: `// ids, targets: [ROWS] -> total: [1] plus the ids at positions with a target
const ROWS = 4u; // @shape
@group(0) @binding(0) var<storage, read> ids: array<u32, ROWS>;
@group(0) @binding(1) var<storage, read> targets: array<i32, ROWS>;
@group(0) @binding(2) var<storage, read_write> total: array<f32, 1>;
@compute @workgroup_size(1)
fn main() {
  for (var row = 0u; row < ROWS; row++) {
    if (targets[row] != -100) {
      total[0] += f32(ids[row]);
    }
  }
}
`,
}

/**
 * Test-only: a model whose gradient is known without computing. Each target adds its position's id to the loss and to the gradient of
 * `used`, a scalar; `unused` never gets a gradient.
 */
export function createSumModel(engine: Engine): CausalModel {
  const parameters = createParameters(engine, [
    { name: 'used', shape: [1] },
    { name: 'unused', shape: [100] },
  ])
  const used = parameters.byName.get('used')
  if (!used) throw new Error('no parameter')
  return {
    engine,
    parameters,
    frozen: null,
    vocabSize: 1000,
    width: 1,
    positions: 1000,
    forward: ({ ids }) => ids,
    logits: (hidden) => hidden,
    loss({ ids }, targets, lossSum) {
      const root = engine.empty([1])
      engine.dispatch(sum, { ROWS: ids.size }, [ids, targets, lossSum], [1])
      engine.tape.record([used], root, [], () => engine.dispatch(sum, { ROWS: ids.size }, [ids, targets, used.gradient], [1]))
      return root
    },
  }
}

/** One row of `length` tokens with a target for each value, whose gradient the value is. */
export function rowOfGradients(values: readonly number[], length: number): MicroBatch {
  const ids = new Uint32Array(length)
  ids.set(values)
  return { ids, labels: Int32Array.from({ length }, (_, index) => (index >= 1 && index <= values.length ? 0 : -100)), starts: null }
}
