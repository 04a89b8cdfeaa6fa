import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { checkOp, randomInput } from '../testing/check-op.ts'
import { layerNormReference, rmsNormReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { layerNorm, rmsNorm } from './layer-norm.ts'

const none = new Float64Array()

function need(tensor: Tensor | undefined): Tensor {
  if (!tensor) throw new Error('an input is missing')
  return tensor
}

describe.each(['lane', 'shared'] as const)('norms in the %s profile, on poisoned memory', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  it.each([
    [1, 1],
    [5, 12],
    [70, 33],
    [3, 65],
  ] as const)('RMS norm of [%i, %i] and its gradients', async (rows, columns) => {
    await checkOp(engine, {
      inputs: [randomInput([rows, columns], 1), randomInput([columns], 2)],
      run: ([x, weight]) => rmsNorm(need(x), need(weight), { epsilon: 1e-6 }),
      reference: ([x = none, weight = none]) => rmsNormReference(x, weight, 1e-6),
      tolerance: 5e-5,
    })
  })

  // Heads with one weight for all of them, and with weights of their own.
  it.each([
    [1, 1, 1, 1],
    [7, 3, 5, 1],
    [70, 4, 17, 1],
    [7, 3, 5, 3],
    [70, 2, 33, 2],
  ] as const)('norms of %i rows of %i parts of %i with %i sets of weights, and their gradients', async (rows, parts, size, sets) => {
    const inputs = [randomInput([rows, parts * size], 1), randomInput([sets * size], 2)]
    await checkOp(engine, {
      inputs,
      run: ([x, weight]) => rmsNorm(need(x), need(weight), { epsilon: 1e-2, parts }),
      reference: ([x = none, weight = none]) => rmsNormReference(x, weight, 1e-2, size),
      tolerance: 5e-5,
    })
    await checkOp(engine, {
      inputs: [...inputs, randomInput([sets * size], 3)],
      run: ([x, weight, bias]) => layerNorm(need(x), need(weight), need(bias), { epsilon: 1e-2, parts }),
      reference: ([x = none, weight = none, bias]) => layerNormReference(x, weight, bias ?? null, 1e-2, size),
      tolerance: size === 1 ? 1e-3 : 5e-5, // a part of one has variance 0: the gradient is a difference of equal terms
    })
  })

  it('refuses weights that fit neither a part nor the row', () => {
    using _scope = engine.scope()
    expect(() => rmsNorm(engine.empty([4, 12]), engine.empty([8]), { epsilon: 1e-6, parts: 3 })).toThrow('Cannot normalise [4, 12]: weight is [8] and bias absent, need [4]')
  })
})
