import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { createParameters } from '../engine/parameters.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { clipFactor } from './clip.ts'
import { GradNorm } from './grad-norm.ts'
import { cutWindows } from './windows.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane')
})
afterAll(() => engine.close())

async function squaredNorm(gradients: Float32Array<ArrayBuffer>) {
  const parameters = createParameters(engine, [{ name: 'p', shape: [gradients.length] }])
  engine.write(parameters.gradients, gradients)
  return new GradNorm(engine, parameters).read()
}

function sumOfSquares(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value * value, 0)
}

for (const length of [1, 63, 4097, 100_001, 300_000]) {
  test(`the squared norm of ${length} gradients is right to 1e-6`, async () => {
    const gradients = Float32Array.from({ length }, (_, index) => 0.3 + Math.sin(index * 12.9898) * Math.exp(Math.sin(index) * 5))
    const expected = sumOfSquares(gradients)
    const { sumSquares, finite } = await squaredNorm(gradients)
    expect(finite).toBe(true)
    expect(Math.abs(sumSquares - expected) / expected).toBeLessThan(1e-6)
  })
}

for (const scale of [1e30, 1e-30, 3e38, 2e-38]) {
  test(`gradients of ${scale} neither overflow nor vanish when squared`, async () => {
    const gradients = Float32Array.from({ length: 20_000 }, (_, index) => (1 - (index % 100) / 200) * scale)
    const expected = sumOfSquares(gradients)
    const { sumSquares, finite } = await squaredNorm(gradients)
    expect(finite).toBe(true)
    expect(Math.abs(sumSquares - expected) / expected).toBeLessThan(scale < 1e-37 ? 0.2 : 1e-6)
  })
}

test('large and small gradients add up exactly as in float64', async () => {
  const gradients = new Float32Array(50_000).fill(1e-12)
  gradients[40_000] = 1e12
  const { sumSquares } = await squaredNorm(gradients)
  expect(Math.abs(sumSquares - sumOfSquares(gradients)) / sumSquares).toBeLessThan(1e-6)
})

for (const [name, bits] of [
  ['NaN', 0x7fc00000],
  ['a negative NaN', 0xffc00001],
  ['infinity', 0x7f800000],
  ['minus infinity', 0xff800000],
] as const) {
  test(`one ${name} anywhere is reported`, async () => {
    for (const position of [0, 4095, 99_999]) {
      const gradients = new Float32Array(100_000).fill(0.5)
      new Uint32Array(gradients.buffer)[position] = bits
      expect((await squaredNorm(gradients)).finite).toBe(false)
    }
  })
}

test('zero gradients have norm zero and are finite', async () => {
  expect(await squaredNorm(new Float32Array(5000))).toEqual({ sumSquares: 0, finite: true })
})

test('clipping leaves small norms alone, brings large ones to the limit and is off at zero', () => {
  expect(clipFactor(0.5, 1)).toBe(1)
  expect(clipFactor(5, 1)).toBeCloseTo(0.2, 6)
  expect(clipFactor(5, 0)).toBe(1)
})

test('buffers above the binding limit are cut into windows that cover each element once', () => {
  expect(cutWindows(10_000, 4096)).toEqual([
    { offset: 0, length: 4096 },
    { offset: 4096, length: 4096 },
    { offset: 8192, length: 1808 },
  ])
})
