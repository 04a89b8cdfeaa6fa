import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../engine/engine.ts'
import { uploadTokens } from '../../engine/ops/embedding.ts'
import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { GOLDEN_FAMILIES, goldenBatch, goldenConfig, goldenModel, goldenTensors, microBatchOf } from '../../train/testing/golden.ts'
import { readTensors, splitSlots } from '../named-tensors.ts'
import { countItems, shiftLabels } from '../targets.ts'
import { modelConfig } from './families.ts'
import { fromHuggingFace } from './from-hugging-face.ts'

test('[U4] targets are counted on the labels after the first of each row', () => {
  for (const family of GOLDEN_FAMILIES) {
    const { num_items, ...golden } = goldenBatch(family)
    const batch = golden.input_ids.length
    expect(countItems(shiftLabels(microBatchOf(golden).labels, { batch, length: golden.input_ids[0]?.length ?? 0 }))).toBe(num_items)
  }
  expect(countItems(shiftLabels(Int32Array.of(7, 7, 7, 7, 7), { batch: 1, length: 5 }))).toBe(4)
})

test('[U4] the last token of a document predicts nothing, whatever the label behind it', () => {
  const starts = Uint32Array.of(0, 0, 2, 2, 4)
  expect([...shiftLabels(Int32Array.of(1, 2, 3, 4, 5), { batch: 1, length: 5, starts })]).toEqual([2, -100, 4, -100, -100])
})

test('a config of another family is refused with the families', () => {
  expect(() => modelConfig({ ...goldenConfig('llama'), model_type: 'gemma' })).toThrow(
    'Cannot use this config: model_type is "gemma", need one of gpt2, llama, mistral, qwen2, qwen3, stablelm, gpt_neox',
  )
})

const cases = GOLDEN_FAMILIES.flatMap((family) => (['lane', 'shared'] as const).map((profile) => [family, profile] as const))

describe.each(cases)('%s on the %s profile', (family, profile) => {
  const golden = goldenBatch(family)
  const batch = golden.input_ids.length
  const length = golden.input_ids[0]?.length ?? 0
  const { ids, labels } = microBatchOf(golden)
  const targets = shiftLabels(labels, { batch, length })
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  test('gives the loss, the gradient norm and every gradient of transformers', async () => {
    const model = goldenModel(engine, family)
    using _scope = engine.scope()
    const lossSum = engine.upload(new Float32Array(1), [1])
    const tokens = uploadTokens(engine, ids, { batch, length, vocabSize: model.vocabSize })
    engine.tape.backward(model.loss(tokens, engine.upload(targets, [targets.length]), lossSum))
    const loss = (await lossSum.read())[0] ?? Number.NaN
    expect(Math.abs(loss / golden.num_items - golden.loss) / golden.loss).toBeLessThan(1e-5)

    const { gradients, elements } = model.parameters
    const expected = fromHuggingFace(goldenTensors(family, 'grads'), modelConfig(goldenConfig(family)))
    expect([...model.parameters.byName.keys()].sort()).toEqual([...expected.keys()].sort())
    const ours = splitSlots(model.parameters, new Float32Array(await engine.readBytes(gradients, elements * 4)))
    let squares = 0
    for (const [name, { values }] of expected) {
      const mine = ours.get(name)?.values ?? new Float32Array(0)
      const difference = Math.hypot(...values.map((value, index) => value - (mine[index] ?? Number.NaN)))
      expect(difference / Math.hypot(...values), name).toBeLessThan(1e-4)
      squares += mine.reduce((sum, value) => sum + value * value, 0)
    }
    const norm = Math.sqrt(squares) / golden.num_items
    expect(Math.abs(norm - golden.grad_norm) / golden.grad_norm).toBeLessThan(1e-5)
  })

  test('gives the logits of transformers', async () => {
    const model = goldenModel(engine, family)
    using _scope = engine.scope()
    const logits = engine.tape.withoutGradients(() => model.logits(model.forward(uploadTokens(engine, ids, { batch, length, vocabSize: model.vocabSize }))))
    const ours = await logits.read()
    const expected = goldenTensors(family, 'logits').get('logits')?.values ?? new Float32Array(0)
    expect(expected.length).toBe(batch * length * model.vocabSize)
    const worst = expected.reduce((most, value, index) => Math.max(most, Math.abs(value - (ours[index] ?? Number.NaN))), 0)
    expect(worst).toBeLessThan(1e-4)
  })

  test('gives its tensors back as they were loaded', async () => {
    const model = goldenModel(engine, family)
    const tensors = await readTensors(engine, [model.parameters])
    for (const [name, { shape, values }] of goldenTensors(family, 'model')) expect(tensors.get(name), name).toEqual({ shape, values })
  })
})
