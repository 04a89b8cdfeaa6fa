import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import type { CausalModel } from '../nn/model.ts'
import { loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { evaluate } from './evaluate.ts'
import { generate } from './generate.ts'
import { sampleToken } from './sample-token.ts'
import { goldenBatch, goldenModel, goldenTensors, microBatchOf } from './testing/golden.ts'
import { traineeOf } from './testing/trainee.ts'
import { runUpdate } from './update.ts'

const golden = goldenBatch('gpt2')
const length = golden.input_ids[0]?.length ?? 0
const OPTIONS = { temperature: 1, topK: 5, topP: 1, length, window: length, seed: 3 }

describe('with the golden model', () => {
  let engine: Engine
  let model: CausalModel
  beforeAll(async () => {
    engine = await openTestEngine('lane')
    model = goldenModel(engine, 'gpt2')
  })
  afterAll(() => engine.close())

  test("the greedy token after a prompt is the likeliest of transformers' logits, whatever stands behind it in the window", async () => {
    const logits = goldenTensors('gpt2', 'logits').get('logits')?.values ?? new Float32Array(0)
    const { vocabSize } = model
    for (const position of [0, 5, length - 1]) {
      const row = logits.subarray(position * vocabSize, (position + 1) * vocabSize)
      const prompt = golden.input_ids[0]?.slice(0, position + 1) ?? []
      expect(await generate(model, { ...OPTIONS, prompt, tokens: 1, temperature: 0 })).toEqual([row.indexOf(Math.max(...row))])
    }
  })

  test('the same seed gives the same text, another seed another, also beyond the window', async () => {
    const prompt = golden.input_ids[0]?.slice(0, 4) ?? []
    const first = await generate(model, { ...OPTIONS, prompt, tokens: 2 * length })
    expect(first.length).toBe(2 * length)
    expect(await generate(model, { ...OPTIONS, prompt, tokens: 2 * length })).toEqual(first)
    expect(await generate(model, { ...OPTIONS, prompt, tokens: 2 * length, seed: 4 })).not.toEqual(first)
  })

  test('a text longer than the window is continued as its last tokens alone', async () => {
    const prompt = golden.input_ids[0]?.slice(0, 9) ?? []
    const long = await generate(model, { ...OPTIONS, prompt, tokens: 1, window: 5, temperature: 0 })
    expect(long).toEqual(await generate(model, { ...OPTIONS, prompt: prompt.slice(-5), tokens: 1, temperature: 0 }))
  })

  test('generation and evaluation record nothing and leave training alone', async () => {
    const trainee = traineeOf(model, { batch: 4, length }, () => microBatchOf(golden))
    const [reducer] = loopbackReducers(1)
    const before = await evaluate(trainee, [[0], [0], [0]])
    expect(before.items).toBe(3 * golden.num_items)
    expect(Math.abs(before.lossSum / before.items - golden.loss) / golden.loss).toBeLessThan(1e-5)
    await generate(model, { ...OPTIONS, prompt: [], tokens: 2 })
    expect(await evaluate(trainee, [[0], [0], [0]])).toEqual(before)
    const report = await runUpdate(trainee, reducer!, { update: 0, microBatches: [[0]], numItems: golden.num_items, learningRate: 0 })
    expect(Math.abs(report.gradNorm - golden.grad_norm) / golden.grad_norm).toBeLessThan(1e-5)
  })

  test('a prompt with an id outside the vocabulary is refused', async () => {
    await expect(generate(model, { ...OPTIONS, prompt: [80], tokens: 1 })).rejects.toThrow('Cannot generate: the prompt has id 80, need ids below 80')
  })
})

test('temperature zero takes the likeliest token and the lower id of equals', () => {
  expect(sampleToken(Float32Array.of(1, 3, 3, 2), { temperature: 0, topK: 0, topP: 1 }, 0.99)).toBe(1)
})

test('draws follow the probabilities, and tokens beyond the top k never come', () => {
  const logits = Float32Array.of(Math.log(1), Math.log(2), Math.log(5))
  const counts = [0, 0, 0]
  for (let index = 0; index < 800; index++) {
    const id = sampleToken(logits, { temperature: 1, topK: 0, topP: 1 }, (index + 0.5) / 800)
    counts[id] = (counts[id] ?? 0) + 1
  }
  expect(counts).toEqual([100, 200, 500])
  for (const uniform of [0, 0.5, 0.9999]) expect(sampleToken(logits, { temperature: 1, topK: 2, topP: 1 }, uniform)).not.toBe(0)
  // Of shares 5/8, 2/8, 1/8: the first alone reaches 0.6, two reach 0.7 and 7/8, and 0.9 takes all.
  const drawn = (topP: number) => new Set(Array.from({ length: 80 }, (_, index) => sampleToken(logits, { temperature: 1, topK: 0, topP }, (index + 0.5) / 80)))
  expect([0.01, 0.6, 0.7, 0.87, 0.9].map((topP) => drawn(topP).size)).toEqual([1, 1, 2, 2, 3])
})

test('a low temperature sharpens and large logits do not overflow', () => {
  expect(sampleToken(Float32Array.of(1e30, 2e30), { temperature: 1e-3, topK: 0, topP: 1 }, 0.999)).toBe(1)
})

test('logits that are not finite are refused', () => {
  expect(() => sampleToken(Float32Array.of(1, Number.NaN), { temperature: 1, topK: 0, topP: 1 }, 0.5)).toThrow('a logit is not finite')
})
