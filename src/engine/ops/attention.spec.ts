import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { Engine } from '../engine.ts'
import { centralDifferences, expectClose, randomValues, seedGradient } from '../testing/check-op.ts'
import { attentionGradientReference, attentionReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { type AttentionOptions, attention } from './attention.ts'

function optionsOf(batch: number, length: number, heads: number, kvHeads: number, headDim: number): AttentionOptions {
  return { batch, length, heads, kvHeads, headDim, scale: 1 / Math.sqrt(headDim) }
}

function columnsOf({ heads, kvHeads, headDim }: AttentionOptions): number {
  return (heads + 2 * kvHeads) * headDim
}

test('the float64 gradient of attention equals central differences', () => {
  const options = optionsOf(2, 5, 4, 2, 3)
  const qkv = randomValues(10 * columnsOf(options), 1)
  const gradient = randomValues(10 * 12, 2)
  const project = ([values = qkv]: readonly Float64Array[]) => attentionReference(values, options).reduce((sum, value, at) => sum + value * (gradient[at] ?? 0), 0)
  const numeric = centralDifferences(project, [qkv], 0, [...qkv.keys()])
  expectClose(attentionGradientReference(qkv, gradient, options), numeric, 1e-8, 'gradient')
})

describe.each(['lane', 'shared'] as const)('attention in the %s profile, on poisoned memory', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  // From 2 ** 19 multiply-adds on, subgroups of four do the work in the lane profile.
  const shapes: readonly (readonly [string, AttentionOptions])[] = [
    ['one token', optionsOf(3, 1, 2, 1, 4)],
    ['a size that is no multiple of four', optionsOf(2, 21, 3, 3, 7)],
    ['one key head for all', optionsOf(1, 70, 4, 1, 6)],
    ['grouped heads in large tiles', optionsOf(2, 101, 4, 2, 8)],
    ['ragged tiles and sizes', optionsOf(3, 131, 3, 1, 5)],
    ['sizes of one', optionsOf(1, 513, 2, 2, 1)],
    ['many tiles', optionsOf(1, 260, 2, 2, 20)],
  ]
  it.each(shapes)('equals float64 for %s, and so does its gradient, also added to what is there', async (_name, options) => {
    const rows = options.batch * options.length
    const values = randomValues(rows * columnsOf(options), 1).map((value) => Math.fround(value * 3))
    const gradient = randomValues(rows * options.heads * options.headDim, 2)
    const want = attentionGradientReference(values, gradient, options)
    using _scope = engine.scope()
    const qkv = engine.upload(new Float32Array(values), [rows, columnsOf(options)])
    qkv.requiresGrad = true
    for (const times of [1, 2]) {
      const out = attention(qkv, options)
      const got = out.read()
      seedGradient(engine, out, gradient)
      expectClose(await got, attentionReference(values, options), 1e-5, 'output')
      expectClose(
        (await qkv.grad?.read()) ?? [],
        want.map((value) => value * times),
        2e-5,
        `gradient, ${times} times`,
      )
    }
  })

  it('is finite and right for scores of 1e4, of either sign', async () => {
    const options = { ...optionsOf(2, 96, 2, 2, 16), scale: 1 }
    const values = randomValues(192 * columnsOf(options), 5).map((value, at) => Math.fround(at % columnsOf(options) < 64 ? value * 60 : value))
    using _scope = engine.scope()
    const qkv = engine.upload(new Float32Array(values), [192, columnsOf(options)])
    qkv.requiresGrad = true
    const out = attention(qkv, options)
    const got = out.read()
    const gradient = randomValues(out.size, 2)
    seedGradient(engine, out, gradient)
    expectClose(await got, attentionReference(values, options), 2e-3, 'output')
    expectClose((await qkv.grad?.read()) ?? [], attentionGradientReference(values, gradient, options), 2e-2, 'gradient')
  })

  it('gives the same bits twice', async () => {
    const options = optionsOf(2, 100, 4, 2, 8)
    using _scope = engine.scope()
    const qkv = engine.upload(new Float32Array(randomValues(200 * columnsOf(options), 3)), [200, columnsOf(options)])
    qkv.requiresGrad = true
    const runs: Float32Array[] = []
    for (let run = 0; run < 2; run++) {
      seedGradient(engine, attention(qkv, options), randomValues(200 * 32, 4))
      runs.push((await qkv.grad?.read()) ?? new Float32Array())
      qkv.grad?.release()
      qkv.grad = null
    }
    expect(runs[0]).toEqual(runs[1])
  })

  it('refuses a tensor of another shape, and key heads that do not divide the heads', () => {
    using _scope = engine.scope()
    expect(() => attention(engine.empty([6, 12]), optionsOf(2, 3, 2, 2, 4))).toThrow('Cannot attend over [6, 12]: need [6, 24]')
    expect(() => attention(engine.empty([6, 28]), optionsOf(2, 3, 3, 2, 4))).toThrow('Cannot share 2 key heads among 3 query heads: need a divisor')
  })
})
