import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { checkOp, randomInput } from '../testing/check-op.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { add } from './add-tensors.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane', { poison: true })
})
afterAll(() => engine.close())

const pick = (tensors: readonly Tensor[], index: number): Tensor => {
  const tensor = tensors[index]
  if (!tensor) throw new Error('an input is missing')
  return tensor
}

test('a sum of two tensors, with the gradient of each', async () => {
  await checkOp(engine, {
    inputs: [randomInput([7, 5], 1), randomInput([7, 5], 2)],
    run: (tensors) => add(pick(tensors, 0), pick(tensors, 1)),
    reference: ([a, b]) => Float64Array.from(a ?? [], (value, index) => value + (b?.[index] ?? 0)),
  })
})

test('terms that are used again keep their own gradients', async () => {
  await checkOp(engine, {
    inputs: [randomInput([70], 1), randomInput([70], 2)],
    // (a + b) + a, and that twice: 4 a + 2 b
    run: (tensors) => {
      const once = add(add(pick(tensors, 0), pick(tensors, 1)), pick(tensors, 0))
      return add(once, once)
    },
    reference: ([a, b]) => Float64Array.from(a ?? [], (value, index) => 4 * value + 2 * (b?.[index] ?? 0)),
  })
})

test('unequal shapes are refused', () => {
  using _scope = engine.scope()
  expect(() => add(engine.empty([2, 3]), engine.empty([3, 2]))).toThrow('Cannot add [2, 3] and [3, 2]: need equal shapes')
})
