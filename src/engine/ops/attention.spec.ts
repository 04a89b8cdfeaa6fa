import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { Engine } from '../engine.ts'
import { centralDifferences, expectClose, randomValues, seedGradient } from '../testing/check-op.ts'
import { attentionGradientReference, attentionReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { type AttentionOptions, attention } from './attention.ts'
import { uploadDocuments } from './document-bounds.ts'

function optionsOf(batch: number, length: number, heads: number, kvHeads: number, headDim: number): AttentionOptions {
  return { batch, length, heads, kvHeads, headDim, scale: 1 / Math.sqrt(headDim) }
}

/** Starts of rows whose documents have these lengths. */
function startsOf(rows: readonly (readonly number[])[]): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(rows.flatMap((lengths) => lengths.flatMap((length, at) => Array<number>(length).fill(lengths.slice(0, at).reduce((sum, one) => sum + one, 0)))))
}

function columnsOf({ heads, kvHeads, headDim }: AttentionOptions): number {
  return (heads + 2 * kvHeads) * headDim
}

test.each([null, startsOf([[2, 3], [5]])])('the float64 gradient of attention equals central differences with starts %j', (starts) => {
  const options = { ...optionsOf(2, 5, 4, 2, 3), ...(starts ? { starts } : {}) }
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

  // Documents that end inside a tile, fill tiles, are one token long, or are the whole row.
  const packedShapes: readonly (readonly [AttentionOptions, readonly (readonly number[])[]])[] = [
    [optionsOf(2, 7, 2, 1, 4), [[1, 4, 2], [7]]],
    [
      optionsOf(2, 101, 4, 2, 8),
      [
        [16, 1, 1, 47, 36],
        [64, 37],
      ],
    ],
    [optionsOf(1, 131, 3, 1, 5), [[3, 65, 63]]],
    [optionsOf(1, 260, 2, 2, 20), [[130, 2, 100, 28]]],
  ]
  it.each(packedShapes)('keeps the documents of packed rows apart: %j with lengths %j', async (options, lengths) => {
    const rows = options.batch * options.length
    const values = randomValues(rows * columnsOf(options), 1).map((value) => Math.fround(value * 3))
    const gradient = randomValues(rows * options.heads * options.headDim, 2)
    const starts = startsOf(lengths)
    const want = attentionGradientReference(values, gradient, { ...options, starts })
    using _scope = engine.scope()
    const qkv = engine.upload(new Float32Array(values), [rows, columnsOf(options)])
    qkv.requiresGrad = true
    for (const times of [1, 2]) {
      const out = attention(qkv, { ...options, documents: uploadDocuments(engine, starts, options) })
      const got = out.read()
      seedGradient(engine, out, gradient)
      expectClose(await got, attentionReference(values, { ...options, starts }), 1e-5, 'output')
      const added = want.map((value) => value * times)
      expectClose((await qkv.grad?.read()) ?? [], added, 2e-5, `gradient, ${times} times`)
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
