import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../engine/engine.ts'
import { uploadTokens } from '../../engine/ops/embedding.ts'
import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { goldenBatch, goldenModel, goldenTensors, microBatchOf } from '../../train/testing/golden.ts'
import { readTensors, splitSlots } from '../named-tensors.ts'
import { countItems, shiftLabels } from '../targets.ts'

const golden = goldenBatch()
const batch = golden.input_ids.length
const length = golden.input_ids[0]?.length ?? 0
const { ids, labels } = microBatchOf(golden)
const targets = shiftLabels(labels, batch, length)

test('[U4] targets are counted on the labels after the first of each row', () => {
  expect(countItems(targets)).toBe(golden.num_items)
  expect(countItems(shiftLabels(Int32Array.of(7, 7, 7, 7, 7), 1, 5))).toBe(4)
})

describe.each(['lane', 'shared'] as const)('GPT-2 on the %s profile', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  test('gives the loss, the gradient norm and every gradient of transformers', async () => {
    const model = goldenModel(engine)
    using _scope = engine.scope()
    const lossSum = engine.upload(new Float32Array(1), [1])
    const tokens = uploadTokens(engine, ids, { batch, length, vocabSize: model.vocabSize })
    engine.tape.backward(model.loss(tokens, engine.upload(targets, [targets.length]), lossSum))
    const loss = (await lossSum.read())[0] ?? Number.NaN
    expect(Math.abs(loss / golden.num_items - golden.loss) / golden.loss).toBeLessThan(1e-5)

    const { gradients, elements } = model.parameters
    const ours = splitSlots(model.parameters, new Float32Array(await engine.readBytes(gradients, elements * 4)))
    let squares = 0
    for (const [name, { values }] of goldenTensors('grads')) {
      const mine = ours.get(name)?.values ?? new Float32Array(0)
      const difference = Math.hypot(...values.map((value, index) => value - (mine[index] ?? Number.NaN)))
      expect(difference / Math.hypot(...values), name).toBeLessThan(1e-4)
      squares += mine.reduce((sum, value) => sum + value * value, 0)
    }
    const norm = Math.sqrt(squares) / golden.num_items
    expect(Math.abs(norm - golden.grad_norm) / golden.grad_norm).toBeLessThan(1e-5)
  })

  test('gives the logits of transformers', async () => {
    const model = goldenModel(engine)
    using _scope = engine.scope()
    const logits = engine.tape.withoutGradients(() => model.logits(model.forward(uploadTokens(engine, ids, { batch, length, vocabSize: model.vocabSize }))))
    const ours = await logits.read()
    const expected = goldenTensors('logits').get('logits')?.values ?? new Float32Array(0)
    expect(expected.length).toBe(batch * length * model.vocabSize)
    const worst = expected.reduce((most, value, index) => Math.max(most, Math.abs(value - (ours[index] ?? Number.NaN))), 0)
    expect(worst).toBeLessThan(1e-4)
  })

  test('gives its tensors back as they were loaded', async () => {
    const model = goldenModel(engine)
    const tensors = await readTensors(engine, model.parameters)
    for (const [name, { shape, values }] of goldenTensors('model')) expect(tensors.get(name), name).toEqual({ shape, values })
  })
})
