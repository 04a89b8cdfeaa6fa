import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { createParameters } from '../engine/parameters.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { Sgd } from './sgd.ts'
import { readTrainingState } from './training-state.ts'

const SPECS = [
  { name: 'weight', shape: [3, 5] },
  { name: 'bias', shape: [70] },
]

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane')
})
afterAll(() => engine.close())

for (const momentum of [0, 0.9]) {
  test(`three steps with momentum ${momentum} agree with float64 SGD in the order of torch, with decay on matrices only`, async () => {
    const parameters = createParameters(engine, SPECS)
    const optimizer = new Sgd(engine, parameters, { momentum, weightDecay: 0.1 })
    expect(optimizer.state.map(({ name }) => name)).toEqual(momentum > 0 ? ['momentum_buffer'] : [])
    const values = new Float64Array(parameters.elements)
    for (const { offset, length } of parameters.slots) for (let at = offset; at < offset + length; at++) values[at] = Math.fround(Math.sin(at))
    engine.write(parameters.values, Float32Array.from(values))
    const buffer = new Float64Array(values.length)
    for (const [index, learningRate] of [0.1, 0, 0.03].entries()) {
      const gradients = Float32Array.from(values, (_, at) => Math.cos(at * 3 + index))
      engine.write(parameters.gradients, gradients)
      optimizer.step({ learningRate, gradientFactor: 0.25 })
      for (const { shape, offset, length } of parameters.slots) {
        for (let at = offset; at < offset + length; at++) {
          const gradient = gradients[at]! * 0.25 + (shape.length >= 2 ? 0.1 : 0) * values[at]!
          buffer[at] = momentum * buffer[at]! + gradient
          values[at]! -= learningRate * buffer[at]!
        }
      }
    }
    const state = await readTrainingState(engine, parameters, optimizer)
    expect(state.committed).toBe(3)
    for (const { offset, length } of parameters.slots) {
      for (let at = offset; at < offset + length; at++) expect(Math.abs(state.values[at]! - values[at]!)).toBeLessThan(1e-6)
    }
  })
}
