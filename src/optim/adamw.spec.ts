import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { createParameters } from '../engine/parameters.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { AdamW } from './adamw.ts'
import { readTrainingState, writeTrainingState } from './training-state.ts'
import { stateHash } from './state-hash.ts'

const SPECS = [
  { name: 'weight', shape: [3, 5] },
  { name: 'bias', shape: [70] },
  { name: 'large', shape: [9, 129] },
]
const OPTIONS = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 }

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane')
})
afterAll(() => engine.close())

/** Deterministic numbers of both signs. */
function numbers(length: number, seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, (_, index) => Math.sin(index * 12.9898 + seed * 78.233) * 2)
}

test('three steps agree with float64 AdamW in the order of torch, with decay on matrices only', async () => {
  const parameters = createParameters(engine, SPECS)
  const optimizer = new AdamW(engine, parameters, OPTIONS)
  const values = new Float64Array(parameters.elements)
  for (const { offset, length } of parameters.slots) values.set(numbers(length, offset), offset)
  engine.write(parameters.values, Float32Array.from(values))
  const m = new Float64Array(values.length)
  const v = new Float64Array(values.length)
  const steps = [
    { learningRate: 0.1, gradientFactor: 0.25 },
    { learningRate: 0, gradientFactor: 1 },
    { learningRate: 0.01, gradientFactor: 3 },
  ]
  for (const [index, step] of steps.entries()) {
    const gradients = new Float32Array(values.length)
    for (const { offset, length } of parameters.slots) gradients.set(numbers(length, 100 * index + offset), offset)
    engine.write(parameters.gradients, gradients)
    optimizer.step(step)
    for (const { shape, offset, length } of parameters.slots) {
      for (let at = offset; at < offset + length; at++) {
        const gradient = gradients[at]! * step.gradientFactor
        values[at]! *= 1 - step.learningRate * (shape.length >= 2 ? 0.1 : 0)
        m[at] = 0.9 * m[at]! + 0.1 * gradient
        v[at] = 0.95 * v[at]! + 0.05 * gradient * gradient
        values[at]! -= ((step.learningRate / (1 - 0.9 ** (index + 1))) * m[at]!) / (Math.sqrt(v[at]! / (1 - 0.95 ** (index + 1))) + 1e-8)
      }
    }
  }
  const state = await readTrainingState(engine, parameters, optimizer)
  expect(state.committed).toBe(3)
  for (const [index, expected] of values.entries()) expect(Math.abs(state.values[index]! - expected)).toBeLessThan(2e-6)
  for (const [index, expected] of m.entries()) expect(Math.abs(state.optimizer[0]![index]! - expected)).toBeLessThan(1e-6)
})

test('a state that is written back gives the same hash and the same next step', async () => {
  const parameters = createParameters(engine, SPECS)
  const optimizer = new AdamW(engine, parameters, OPTIONS)
  engine.write(parameters.values, numbers(parameters.elements, 1))
  engine.write(parameters.gradients, numbers(parameters.elements, 2))
  const step = { learningRate: 0.1, gradientFactor: 1 }
  optimizer.step(step)
  const saved = await readTrainingState(engine, parameters, optimizer)
  const hash = await stateHash(engine, parameters, optimizer)
  optimizer.step(step)
  const after = await stateHash(engine, parameters, optimizer)
  expect(after).not.toBe(hash)

  const other = createParameters(engine, SPECS)
  const restored = new AdamW(engine, other, OPTIONS)
  writeTrainingState(engine, other, restored, saved)
  expect(await stateHash(engine, other, restored)).toBe(hash)
  engine.write(other.gradients, numbers(other.elements, 2))
  restored.step(step)
  expect(await stateHash(engine, other, restored)).toBe(after)
})

test('a state of another model is refused with both sizes', () => {
  const parameters = createParameters(engine, SPECS)
  const optimizer = new AdamW(engine, parameters, OPTIONS)
  const short = { values: new Float32Array(64), optimizer: [new Float32Array(64), new Float32Array(64)], committed: 1 }
  expect(() => writeTrainingState(engine, parameters, optimizer, short)).toThrow(`Cannot restore values: 64 elements, need ${parameters.elements}`)
  expect(() => writeTrainingState(engine, parameters, optimizer, { ...short, optimizer: [] })).toThrow('Cannot restore the optimizer: it has 0 arrays, need 2')
})
