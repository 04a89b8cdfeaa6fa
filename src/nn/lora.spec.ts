import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { uploadTokens } from '../engine/ops/embedding.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { GOLDEN_FAMILIES, goldenBatch, goldenFile, goldenJson, goldenModel, type GoldenRows, microBatchOf } from '../train/testing/golden.ts'
import type { LoraOptions } from './lora.ts'
import type { CausalModel } from './model.ts'
import { valuesOf } from './model-parameters.ts'
import { createModel, modelConfig } from './models/families.ts'
import { initialiseAdapters } from './models/initialise.ts'
import { loadTensors, readTensors, splitSlots } from './named-tensors.ts'
import { TRAIN_ALL, type Training } from './parameter-plan.ts'
import { shiftLabels } from './targets.ts'

const LORA: LoraOptions = { rank: 4, alpha: 8, rankStabilised: false, dropout: 0, targets: ['q_proj', 'v_proj', 'o_proj', 'down_proj'] }

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane', { poison: true })
})
afterAll(() => engine.close())

/** Loss sum and gradients of rows, in one micro-batch. */
async function gradientsOf(model: CausalModel, rows: GoldenRows): Promise<{ readonly lossSum: number; readonly gradients: Map<string, Float32Array> }> {
  using _scope = engine.scope()
  const { ids, labels } = microBatchOf(rows)
  const batch = rows.input_ids.length
  const length = ids.length / batch
  const lossSum = engine.upload(new Float32Array(1), [1])
  const targets = shiftLabels(labels, { batch, length })
  const { gradients, elements } = model.parameters
  engine.clear(gradients)
  engine.tape.backward(model.loss(uploadTokens(engine, ids, { batch, length, vocabSize: model.vocabSize }), engine.upload(targets, [targets.length]), lossSum))
  const flat = splitSlots(model.parameters, new Float32Array(await engine.readBytes(gradients, elements * 4)))
  return { lossSum: (await lossSum.read())[0] ?? Number.NaN, gradients: new Map([...flat].map(([name, { values }]) => [name, values])) }
}

function difference(a: Float32Array, b: Float32Array | undefined, factor = 1): number {
  return Math.hypot(...a.map((value, index) => value - factor * (b?.[index] ?? Number.NaN))) / Math.hypot(...a)
}

test("PEFT's adapters of the golden Qwen3: loss, norm and every gradient", async () => {
  const golden = goldenJson<{ readonly num_items: number; readonly loss: number; readonly grad_norm: number; readonly trainable: number }>('lora/lora.json')
  const config = modelConfig(goldenJson('trainer/model/config.json'))
  const model = createModel(engine, config, { freeze: [], lora: LORA })
  loadTensors(engine, valuesOf(model), new Map([...goldenFile('trainer/model/model.safetensors'), ...goldenFile('lora/lora_weights.safetensors')]))
  expect(model.parameters.slots.reduce((sum, { length }) => sum + length, 0)).toBe(golden.trainable)

  const { samples } = goldenJson<{ readonly samples: readonly { readonly input_ids: number[]; readonly labels: number[] }[] }>('trainer/data.json')
  const window = samples.slice(0, 4)
  const { lossSum, gradients } = await gradientsOf(model, { input_ids: window.map(({ input_ids }) => input_ids), labels: window.map(({ labels }) => labels) })
  expect(Math.abs(lossSum / golden.num_items / golden.loss - 1)).toBeLessThan(1e-5)
  const expected = goldenFile('lora/lora_window0_grads.safetensors')
  expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort())
  let squares = 0
  for (const [name, { values }] of expected) {
    const mine = gradients.get(name)
    expect(difference(values, mine, 1 / golden.num_items), name).toBeLessThan(1e-4)
    squares += mine?.reduce((sum, value) => sum + value * value, 0) ?? 0
  }
  expect(Math.abs(Math.sqrt(squares) / golden.num_items / golden.grad_norm - 1)).toBeLessThan(1e-5)
})

describe.each(GOLDEN_FAMILIES)('%s', (family) => {
  const rows = goldenBatch(family)

  test('adapters of all linear layers: a new one changes nothing, and the gradient of its B is that of the weight times A', async () => {
    const full = await gradientsOf(goldenModel(engine, family), rows)
    const lora = { ...LORA, targets: 'all-linear', rankStabilised: true } as const
    const model = createModel(engine, modelConfig(goldenJson(`${family}/config.json`)), { freeze: [], lora })
    const base = await readTensors(engine, valuesOf(goldenModel(engine, family)))
    initialiseAdapters(engine, valuesOf(model), 3)
    loadTensors(engine, valuesOf(model), base, { mayLack: (name) => name.includes('.lora_') })
    const adapted = await gradientsOf(model, rows)
    // GELU is computed apart from the matrix product then, and may round otherwise.
    expect(Math.abs(adapted.lossSum / full.lossSum - 1)).toBeLessThan(1e-6)
    const values = await readTensors(engine, valuesOf(model))
    const modules = [...adapted.gradients.keys()].filter((name) => name.endsWith('.lora_B.weight')).map((name) => name.slice(0, -'.lora_B.weight'.length))
    expect(modules.length).toBeGreaterThanOrEqual(8)
    for (const module of modules) {
      // dB = s dW A^T, with dW [out, in].
      const a = values.get(`${module}.lora_A.weight`)
      const dWeight = full.gradients.get(`${module}.weight`) ?? new Float32Array()
      const [rank = 0, inputs = 0] = a?.shape ?? []
      const outputs = dWeight.length / inputs
      const at = (out: number, column: number) => dWeight[family === 'gpt2' ? column * outputs + out : out * inputs + column] ?? 0
      const expected = Float32Array.from({ length: outputs * rank }, (_, index) => {
        const [out, r] = [Math.floor(index / rank), index % rank]
        let sum = 0
        for (let column = 0; column < inputs; column++) sum += at(out, column) * (a?.values[r * inputs + column] ?? 0)
        return (8 / Math.sqrt(4)) * sum
      })
      expect(difference(expected, adapted.gradients.get(`${module}.lora_B.weight`)), module).toBeLessThan(1e-4)
      expect(a?.values.every((value) => Math.abs(value) < 1 / Math.sqrt(inputs))).toBe(true)
    }
  })

  test('frozen parameters have no gradient, and the others the one that they have when all train', async () => {
    const all = goldenModel(engine, family)
    const full = await gradientsOf(all, rows)
    const names = [...all.parameters.byName.keys()]
    const freeze = names.filter((_, index) => index % 3 !== 1)
    const model = goldenModel(engine, family, { freeze, lora: null })
    const part = await gradientsOf(model, rows)
    expect(part.lossSum).toBe(full.lossSum)
    expect([...part.gradients.keys()]).toEqual(names.filter((name) => !freeze.includes(name)))
    for (const [name, values] of part.gradients) expect(difference(full.gradients.get(name) ?? new Float32Array(), values), name).toBeLessThan(1e-5)
    expect(model.frozen?.slots.map(({ name }) => name)).toEqual(freeze)
  })
})

describe('names', () => {
  const refusal = (training: Partial<Training>): unknown => {
    try {
      return goldenModel(engine, 'gpt_neox', { ...TRAIN_ALL, ...training })
    } catch (cause) {
      return cause instanceof Error ? cause.message : cause
    }
  }

  test('a pattern freezes whole modules and what its stars match', () => {
    const model = goldenModel(engine, 'qwen3', { freeze: ['model.embed_tokens', '*norm*', 'model.layers.0', '*.up_proj.weight'], lora: null })
    const left = [...model.parameters.byName.keys()]
    expect(left).toContain('model.layers.1.mlp.gate_proj.weight')
    expect(left.filter((name) => /embed|norm|layers\.0|up_proj/.test(name))).toEqual([])
  })

  test('names that match nothing are refused with those that there are, and so is a model in which nothing trains', () => {
    expect(refusal({ freeze: ['*.lora_A.*'] })).toMatch(
      /^Cannot freeze "\*\.lora_A\.\*": no parameter has such a name, need some of gpt_neox\.embed_in\.weight, gpt_neox\.layers\.\*\.input_layernorm\.weight, /,
    )
    expect(refusal({ freeze: ['*'] })).toMatch(/^Cannot train: all \d+ parameters are frozen, need at least one that requires a gradient$/)
    expect(refusal({ lora: { ...LORA, targets: ['q_proj'] } })).toBe(
      'Cannot adapt "q_proj": no linear module of the model has this name, need some of query_key_value, dense, dense_h_to_4h, dense_4h_to_h, or all-linear',
    )
    expect(refusal({ lora: { ...LORA, targets: ['dense', 'embed_out'] } })).toMatch(/^Cannot adapt "embed_out": embeddings and heads have no adapters here, need some of /)
  })
})
