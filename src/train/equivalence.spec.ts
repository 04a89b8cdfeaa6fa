import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loopbackRings } from '../collectives/testing/loopback-rings.ts'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { createGpt2 } from '../nn/models/gpt2.ts'
import { gpt2Config } from '../nn/models/gpt2-config.ts'
import { initialiseModel } from '../nn/models/initialise.ts'
import { stateHash } from '../optim/state-hash.ts'
import type { Reducer } from '../parallel/reducer.ts'
import { loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { traineeOf } from './testing/trainee.ts'
import { type Trainee, runUpdate, type WindowReport } from './update.ts'

const CONFIG = gpt2Config({ vocab_size: 23, n_positions: 9, n_embd: 12, n_layer: 2, n_head: 3 })
const SHAPE = { batch: 2, length: 9 }
const UPDATES = 4
const MICRO_BATCHES = 8

/** One sample per micro-batch row; labels masked unevenly, so that micro-batches have unlike numbers of targets. */
function rowsOf(samples: readonly number[]) {
  const ids = new Uint32Array(SHAPE.batch * SHAPE.length)
  const labels = new Int32Array(ids.length).fill(-100)
  for (const [row, sample] of samples.entries()) {
    for (let t = 0; t < SHAPE.length; t++) {
      const id = (sample * 5 + t * (1 + (sample % 3)) + t * t) % CONFIG.vocabSize
      ids[row * SHAPE.length + t] = id
      if (t >= sample % 7) labels[row * SHAPE.length + t] = id
    }
  }
  return { ids, labels, starts: null }
}

function itemsOf(sample: number): number {
  return rowsOf([sample])
    .labels.subarray(1, SHAPE.length)
    .filter((label) => label !== -100).length
}

function createTrainee(engine: Engine): Trainee {
  const model = createGpt2(engine, CONFIG)
  initialiseModel(engine, [model.parameters], CONFIG, 5)
  return traineeOf(model, SHAPE, rowsOf)
}

/** Trains on the same samples whatever the split; `split` says how many micro-batches each rank gets. */
async function train(
  engines: readonly Engine[],
  split: readonly number[],
  reducers: readonly Reducer[] = loopbackReducers(split.length),
): Promise<{ reports: WindowReport[]; hashes: string[] }> {
  const trainees = engines.slice(0, split.length).map(createTrainee)
  const reports: WindowReport[] = []
  for (let update = 0; update < UPDATES; update++) {
    const all = Array.from({ length: MICRO_BATCHES }, (_, index) => [2 * index, 2 * index + 1].map((sample) => sample + update * 2 * MICRO_BATCHES))
    const numItems = all.flat().reduce((sum, sample) => sum + itemsOf(sample), 0)
    let dealt = 0
    const parts = split.map((count) => {
      dealt += count
      return all.slice(dealt - count, dealt)
    })
    const window = { update, numItems, learningRate: 0.01 }
    const every = await Promise.all(trainees.map((trainee, rank) => runUpdate(trainee, reducers[rank]!, { ...window, microBatches: parts[rank]! })))
    for (const { lossSum, gradNorm } of every) expect([lossSum, gradNorm]).toEqual([every[0]?.lossSum, every[0]?.gradNorm])
    reports.push(every[0]!)
  }
  return {
    reports,
    hashes: await Promise.all(trainees.map(({ engine, model, optimizer }) => stateHash(engine, model.parameters, optimizer))),
  }
}

describe('the same samples on more ranks', () => {
  const engines: Engine[] = []
  let single: { reports: WindowReport[]; hashes: string[] }
  beforeAll(async () => {
    for (let rank = 0; rank < 4; rank++) engines.push(await openTestEngine('lane'))
    single = await train(engines, [8])
  })
  afterAll(() => {
    for (const engine of engines) engine.close()
  })

  for (const split of [
    [4, 4],
    [2, 2, 2, 2],
    [4, 3, 1],
    [8, 0],
    [0, 5, 3],
  ]) {
    test(`[U2][U6] ranks with ${split.join(' + ')} micro-batches train as one with 8, and hold the same bits`, async () => {
      const { reports, hashes } = await train(engines, split)
      expect(new Set(hashes).size).toBe(1)
      for (const [update, report] of reports.entries()) {
        const expected = single.reports[update]!
        expect(report.outcome).toBe('committed')
        expect(Math.abs(report.lossSum - expected.lossSum) / expected.lossSum).toBeLessThan(1e-5)
        expect(Math.abs(report.gradNorm - expected.gradNorm) / expected.gradNorm).toBeLessThan(1e-5)
      }
    })
  }

  test('[U6] the ring over links gives the same, with the same bits on three ranks and in a second run', async () => {
    const runs = []
    for (let run = 0; run < 2; run++) {
      using room = loopbackRings(3)
      runs.push(await train(engines, [4, 3, 1], room.rings))
    }
    expect(new Set(runs.flatMap(({ hashes }) => hashes)).size).toBe(1)
    for (const [update, { gradNorm }] of (runs[0]?.reports ?? []).entries()) {
      const expected = single.reports[update]!.gradNorm
      expect(Math.abs(gradNorm - expected) / expected).toBeLessThan(1e-5)
    }
  })

  test('the same run twice gives the same bits', async () => {
    expect((await train(engines, [8])).hashes).toEqual(single.hashes)
  })
})
