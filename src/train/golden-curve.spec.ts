import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { learningRate } from '../optim/schedule.ts'
import { loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { GOLDEN_FAMILIES, goldenCurve, goldenModel, microBatchOf } from './testing/golden.ts'
import { traineeOf } from './testing/trainee.ts'
import { runUpdate } from './update.ts'

const SHAPE = { batch: 4, length: 14 }

const cases = GOLDEN_FAMILIES.flatMap((family) => (['lane', 'shared'] as const).map((profile) => [family, profile] as const))

describe.each(cases)('training %s on the %s profile', (family, profile) => {
  const curve = goldenCurve(family)
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile)
  })
  afterAll(() => engine.close())

  for (const [name, kind, weightDecay] of [
    ['linear_wd01', 'linear', 0.1],
    ['cosine_wd0', 'cosine', 0],
  ] as const) {
    test(`gives all 20 losses, norms and rates of torch's ${name}`, async () => {
      const [reducer] = loopbackReducers(1)
      if (!reducer) throw new Error('no reducer')
      const trainee = traineeOf(goldenModel(engine, family), SHAPE, ([index]) => microBatchOf(curve.batches[index ?? 0] ?? { input_ids: [], labels: [] }), { weightDecay })
      const schedule = { kind, peak: 2e-3, warmupSteps: 3, totalSteps: 20 }
      for (const [update, expected] of curve[name].entries()) {
        const rate = learningRate(schedule, trainee.optimizer.committed)
        const report = await runUpdate(trainee, reducer, {
          update,
          microBatches: [[update % 5]],
          numItems: expected.num_items,
          learningRate: rate,
        })
        expect(report.outcome).toBe('committed')
        expect(report.learningRate).toBeCloseTo(expected.learning_rate, 12)
        expect(Math.abs(report.lossSum / report.numItems - expected.loss) / expected.loss, `loss ${update}`).toBeLessThan(1e-4)
        expect(Math.abs(report.gradNorm - expected.grad_norm) / expected.grad_norm, `norm ${update}`).toBeLessThan(1e-4)
      }
    })
  }
})
