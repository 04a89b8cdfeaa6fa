import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { runSelfTest } from './self-test.ts'
import { type ReferenceInputs, referenceNetwork } from './self-test-reference.ts'

describe.each(['lane', 'shared'] as const)('the self-test on the %s profile', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  test('[J4] passes on a working adapter, and says how close it was', async () => {
    const { passed, worstError } = await runSelfTest(engine)
    expect(passed).toBe(true)
    expect(worstError).toBeGreaterThan(0)
    expect(worstError).toBeLessThan(1e-5)
  })

  test('[J4] fails when kernels leave their output as it was', async () => {
    const dispatch = engine.dispatch
    engine.dispatch = () => {}
    try {
      expect((await runSelfTest(engine)).passed).toBe(false)
    } finally {
      engine.dispatch = dispatch
    }
  })
})

test("the reference's gradients are those of finite differences", () => {
  const shape = { batch: 2, length: 3, heads: 2, headDim: 2, inputs: 3, vocab: 5 }
  const numbers = (length: number, seed: number) => Float32Array.from({ length }, (_, index) => Math.sin(index * 1.7 + seed))
  const inputs: ReferenceInputs = {
    x: numbers(18, 1),
    weight: numbers(36, 2),
    bias: numbers(12, 3),
    head: numbers(20, 4),
    targets: Int32Array.of(1, 4, -100, 0, 2, -100),
  }
  const { gradients } = referenceNetwork(shape, inputs)
  for (const name of ['x', 'weight', 'bias', 'head'] as const) {
    for (const [index, expected] of gradients[name].entries()) {
      const around = [-0.0078125, 0.0078125].map((step) => {
        const moved = inputs[name].slice()
        moved[index] = (moved[index] ?? 0) + step
        return { at: moved[index] ?? 0, loss: referenceNetwork(shape, { ...inputs, [name]: moved }).loss }
      })
      const slope = (around[1]!.loss - around[0]!.loss) / (around[1]!.at - around[0]!.at)
      expect(Math.abs(slope - expected), `${name} ${index}`).toBeLessThan(2e-3)
    }
  }
})
