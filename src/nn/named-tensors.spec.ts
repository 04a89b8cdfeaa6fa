import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { createParameters, type FlatParameters } from '../engine/parameters.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { gpt2Config } from './models/gpt2-config.ts'
import { fromHuggingFace } from './models/from-hugging-face.ts'
import { initialiseModel } from './models/initialise.ts'
import { gpt2Layout } from './models/gpt2.ts'
import { loadTensors, type NamedTensor, readTensors } from './named-tensors.ts'

let engine: Engine
let parameters: FlatParameters
beforeAll(async () => {
  engine = await openTestEngine('lane')
  parameters = createParameters(engine, [
    { name: 'a', shape: [2, 3] },
    { name: 'b', shape: [3] },
  ])
})
afterAll(() => engine.close())

const a: NamedTensor = { shape: [2, 3], values: Float32Array.of(1, 2, 3, 4, 5, 6) }
const b: NamedTensor = { shape: [3], values: Float32Array.of(7, 8, 9) }

test('tensors come back by name as they were loaded', async () => {
  loadTensors(
    engine,
    [parameters],
    new Map([
      ['b', b],
      ['a', a],
    ]),
  )
  expect(await readTensors(engine, [parameters])).toEqual(
    new Map([
      ['a', a],
      ['b', b],
    ]),
  )
})

test('a missing, an extra and a misshaped tensor are refused with name and numbers', () => {
  expect(() => loadTensors(engine, [parameters], new Map([['a', a]]))).toThrow('Cannot load the model: tensor b is missing, need one of shape [3]')
  expect(() =>
    loadTensors(
      engine,
      [parameters],
      new Map([
        ['a', a],
        ['b', b],
        ['c', b],
      ]),
    ),
  ).toThrow('Cannot load the model: it has no parameter for c (1 extra)')
  expect(() =>
    loadTensors(
      engine,
      [parameters],
      new Map([
        ['a', { ...a, shape: [3, 2] }],
        ['b', b],
      ]),
    ),
  ).toThrow('Cannot load tensor a: its shape is [3, 2], need [2, 3]')
})

test('files with a head, without prefix or with masks name the same tensors', () => {
  const wte = { shape: [1, 2], values: Float32Array.of(1, 2) }
  const named = new Map([['transformer.wte.weight', wte]])
  const config = gpt2Config({ vocab_size: 1, n_positions: 1, n_embd: 2, n_layer: 1, n_head: 1 })
  expect(
    fromHuggingFace(
      new Map([
        ['wte.weight', wte],
        ['h.0.attn.bias', b],
        ['h.0.attn.masked_bias', b],
      ]),
      config,
    ),
  ).toEqual(named)
  expect(
    fromHuggingFace(
      new Map([
        ['transformer.wte.weight', wte],
        ['lm_head.weight', wte],
      ]),
      config,
    ),
  ).toEqual(named)
  const untied = new Map([
    ['transformer.wte.weight', wte],
    ['lm_head.weight', { ...wte, values: Float32Array.of(1, 3) }],
  ])
  expect(() => fromHuggingFace(untied, config)).toThrow('lm_head.weight is not transformer.wte.weight, need a tied head')
})

test('initial weights have the spread of GPT-2, depend on the seed alone, and leave padding zero', async () => {
  const config = gpt2Config({ vocab_size: 50, n_positions: 20, n_embd: 60, n_layer: 2, n_head: 2 })
  const read = async (seed: number) => {
    const gpt2 = createParameters(engine, gpt2Layout(config).specs)
    initialiseModel(engine, [gpt2], config, seed)
    return readTensors(engine, [gpt2])
  }
  const tensors = await read(7)
  const spread = (name: string) => {
    const values = tensors.get(name)?.values ?? new Float32Array(0)
    return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length)
  }
  expect(spread('transformer.wte.weight')).toBeCloseTo(0.02, 3)
  expect(spread('transformer.h.1.mlp.c_fc.weight')).toBeCloseTo(0.02, 3)
  expect(spread('transformer.h.1.mlp.c_proj.weight')).toBeCloseTo(0.01, 3)
  expect([spread('transformer.ln_f.weight'), spread('transformer.ln_f.bias'), spread('transformer.h.0.attn.c_attn.bias')]).toEqual([1, 0, 0])
  expect(await read(7)).toEqual(tensors)
  expect((await read(8)).get('transformer.wte.weight')).not.toEqual(tensors.get('transformer.wte.weight'))
})
