import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { checkOp, expectClose, randomInput, randomValues, seedGradient } from '../testing/check-op.ts'
import { exactGeluReference, geluReference, siluReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { gated } from './gated.ts'

const REFERENCES = { silu: siluReference, 'gelu-tanh': geluReference, gelu: exactGeluReference }
const ACTIVATIONS = ['silu', 'gelu-tanh', 'gelu'] as const

function need(tensor: Tensor | undefined): Tensor {
  if (!tensor) throw new Error('an input is missing')
  return tensor
}

describe.each(['lane', 'shared'] as const)('gated activations in the %s profile, on poisoned memory', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  const sizes = [
    [1, 1],
    [7, 13],
    [65, 4],
  ] as const
  it.each(ACTIVATIONS.flatMap((activation) => sizes.map((size) => [activation, ...size] as const)))('%s over [%i, %i] and its gradients', async (activation, rows, columns) => {
    const gate = randomInput([rows, columns], 1)
    await checkOp(engine, {
      inputs: [{ ...gate, values: gate.values.map((value) => Math.fround(4 * value)) }, randomInput([rows, columns], 2)],
      run: ([x, up]) => gated(need(x), need(up), activation),
      reference: ([x = new Float64Array(), up]) => x.map((value, at) => REFERENCES[activation](value) * (up?.[at] ?? 0)),
    })
  })

  it.each(ACTIVATIONS)('%s is finite and right for gates of 1e4 in both directions', async (activation) => {
    await checkOp(engine, {
      inputs: [{ shape: [1, 6], values: Float64Array.of(1e4, -1e4, 100, -100, 30, -30) }, randomInput([1, 6], 2)],
      run: ([x, up]) => gated(need(x), need(up), activation),
      reference: ([x = new Float64Array(), up]) => x.map((value, at) => REFERENCES[activation](value) * (up?.[at] ?? 0)),
    })
  })

  it('gives the gradient of one side when the other wants none', async () => {
    using _scope = engine.scope()
    const [gate, up] = [1, 2].map((seed) => engine.upload(new Float32Array(randomValues(9, seed)), [3, 3]))
    need(up).requiresGrad = true
    seedGradient(engine, gated(need(gate), need(up), 'silu'), new Float64Array(9).fill(1))
    expectClose((await need(up).grad?.read()) ?? [], randomValues(9, 1).map(siluReference), 2e-5, 'gradient')
    expect(gate?.grad).toBeNull()
  })

  it('refuses unlike shapes', () => {
    using _scope = engine.scope()
    expect(() => gated(engine.empty([2, 3]), engine.empty([3, 2]), 'silu')).toThrow('Cannot gate [3, 2] by [2, 3]: need equal shapes')
  })
})
