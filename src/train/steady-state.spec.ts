import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine, EngineCounts } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { createModel, modelConfig } from '../nn/models/families.ts'
import { initialiseModel } from '../nn/models/initialise.ts'
import { type LoopbackReducer, loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { goldenConfig } from './testing/golden.ts'
import { traineeOf } from './testing/trainee.ts'
import { type Trainee, runUpdate } from './update.ts'

const GPT2 = modelConfig({ model_type: 'gpt2', vocab_size: 20, n_positions: 8, n_embd: 8, n_layer: 2, n_head: 2 })
const SHAPE = { batch: 2, length: 8 }

async function update(trainee: Trainee, reducer: LoopbackReducer, number: number): Promise<void> {
  const { worldSize } = reducer
  await runUpdate(trainee, reducer, {
    update: number,
    microBatches: [
      [0, 1],
      [2, 3],
      [4, 5],
    ],
    numItems: worldSize * 3 * 2 * 7,
    learningRate: 1e-3,
  })
}

function tinyTrainee(engine: Engine, config = GPT2): Trainee {
  const model = createModel(engine, config)
  initialiseModel(engine, [model.parameters], config, 1)
  return traineeOf(model, SHAPE, (samples) => {
    const ids = Uint32Array.from({ length: 16 }, (_, index) => (index * index + (samples[0] ?? 0) * 7) % 20)
    return { ids, labels: Int32Array.from(ids), starts: null }
  })
}

function created({ buffers, bindGroups, pipelines, bytes }: EngineCounts) {
  return { buffers, bindGroups, pipelines, bytes }
}

describe.each(['lane', 'shared'] as const)('steady state on the %s profile', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile)
  })
  afterAll(() => engine.close())

  test('an update creates no buffer, bind group or pipeline once one has run, alone and in a ring of two', async () => {
    const alone = tinyTrainee(engine)
    const [single] = loopbackReducers(1)
    const pair = loopbackReducers(2)
    const ringed = pair.map(() => tinyTrainee(engine))
    const round = async (number: number) => {
      if (single) await update(alone, single, number)
      await Promise.all(pair.map((reducer, rank) => (ringed[rank] ? update(ringed[rank], reducer, number) : Promise.resolve())))
    }
    await round(0)
    const after = created(engine.counts)
    for (let number = 1; number < 4; number++) await round(number)
    expect(created(engine.counts)).toEqual(after)
  })

  test('an update of Qwen3 creates nothing once one has run', async () => {
    const trainee = tinyTrainee(engine, modelConfig({ ...goldenConfig('qwen3'), vocab_size: 20 }))
    const [single] = loopbackReducers(1)
    if (!single) throw new Error('no reducer')
    await update(trainee, single, 0)
    const after = created(engine.counts)
    for (let number = 1; number < 4; number++) await update(trainee, single, number)
    expect(created(engine.counts)).toEqual(after)
  })

  test('300 updates leave the GPU memory as it was after the first', async () => {
    const trainee = tinyTrainee(engine)
    const [single] = loopbackReducers(1)
    if (!single) throw new Error('no reducer')
    await update(trainee, single, 0)
    const after = created(engine.counts)
    for (let number = 1; number <= 300; number++) {
      await runUpdate(trainee, single, { update: number, microBatches: [[number]], numItems: 14, learningRate: 1e-3 })
    }
    expect(created(engine.counts)).toEqual(after)
  })
})
