import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { valuesOf } from '../nn/model-parameters.ts'
import { initialiseModel } from '../nn/models/initialise.ts'
import { createModel, modelConfig } from '../nn/models/families.ts'
import { readTensors } from '../nn/named-tensors.ts'
import type { Training } from '../nn/parameter-plan.ts'
import { frozenDigest, stateHash } from '../optim/state-hash.ts'
import { loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { compileKernels } from './compile.ts'
import { dropoutKeys } from './dropout-keys.ts'
import { evaluate } from './evaluate.ts'
import { goldenConfig } from './testing/golden.ts'
import { traineeOf } from './testing/trainee.ts'
import { runUpdate, type Trainee, type WindowReport } from './update.ts'

const CONFIG = modelConfig(goldenConfig('gpt2'))
const SHAPE = { batch: 2, length: 10 }
const ADAPTERS: Training = { freeze: [], lora: { rank: 4, alpha: 16, rankStabilised: false, dropout: 0.3, targets: 'all-linear' } }
const PART: Training = { freeze: ['transformer.wte', '*.mlp'], lora: null }

function rowsOf(samples: readonly number[]) {
  const ids = new Uint32Array(SHAPE.batch * SHAPE.length)
  const labels = new Int32Array(ids.length).fill(-100)
  for (const [row, sample] of samples.entries()) {
    for (let t = 0; t < SHAPE.length; t++) {
      const at = row * SHAPE.length + t
      ids[at] = (sample * 5 + t * (1 + (sample % 3)) + t * t) % CONFIG.vocabSize
      if (t >= sample % 7) labels[at] = ids[at] ?? 0
    }
  }
  return { ids, labels, starts: null }
}

const itemsOf = (sample: number): number =>
  rowsOf([sample])
    .labels.subarray(1, SHAPE.length)
    .filter((label) => label !== -100).length

function createTrainee(engine: Engine, training: Training, dropoutSeed: number | null): Trainee {
  const model = createModel(engine, CONFIG, training)
  initialiseModel(engine, valuesOf(model), CONFIG, 5)
  return { ...traineeOf(model, SHAPE, rowsOf), dropoutSeed }
}

interface Trained {
  readonly trainees: readonly Trainee[]
  readonly reports: readonly WindowReport[]
  readonly hashes: readonly string[]
}

/** Three updates of six micro-batches each, dealt to ranks as `split` says. */
async function train(split: readonly number[], training: Training, dropoutSeed: number | null): Promise<Trained> {
  const reducers = loopbackReducers(split.length)
  const trainees = split.map((_, rank) => createTrainee(engines[rank]!, training, dropoutSeed))
  const reports: WindowReport[] = []
  for (let update = 0; update < 3; update++) {
    const all = Array.from({ length: 6 }, (_, index) => [2 * index + 12 * update, 2 * index + 1 + 12 * update])
    const numItems = all.flat().reduce((sum, sample) => sum + itemsOf(sample), 0)
    let dealt = 0
    const parts = split.map((count) => all.slice(dealt, (dealt += count)))
    const every = await Promise.all(trainees.map((trainee, rank) => runUpdate(trainee, reducers[rank]!, { update, numItems, learningRate: 0.02, microBatches: parts[rank]! })))
    reports.push(every[0]!)
  }
  const hashes = await Promise.all(trainees.map(({ engine, model, optimizer }) => stateHash(engine, model.parameters, optimizer)))
  return { trainees, reports, hashes }
}

const engines: Engine[] = []
beforeAll(async () => {
  for (let rank = 0; rank < 3; rank++) engines.push(await openTestEngine('lane'))
})
afterAll(() => {
  for (const engine of engines) engine.close()
})

function expectAlike(actual: Trained, expected: Trained): void {
  expect(new Set(actual.hashes).size).toBe(1)
  for (const [update, { lossSum, gradNorm, outcome }] of actual.reports.entries()) {
    expect(outcome).toBe('committed')
    expect(Math.abs(lossSum / expected.reports[update]!.lossSum - 1)).toBeLessThan(1e-5)
    expect(Math.abs(gradNorm / expected.reports[update]!.gradNorm - 1)).toBeLessThan(1e-5)
  }
}

test('[U6] adapters with dropout train alike on 1, 2 and 3 ranks, and what is frozen keeps its bits', { timeout: 60_000 }, async () => {
  const alone = await train([6], ADAPTERS, 11)
  expectAlike(await train([3, 3], ADAPTERS, 11), alone)
  expectAlike(await train([1, 0, 5], ADAPTERS, 11), alone)
  const { model } = alone.trainees[0]!
  const [before, after] = await Promise.all([createTrainee(engines[1]!, ADAPTERS, null).model, model].map((one) => readTensors(one.engine, one.frozen ? [one.frozen] : [])))
  expect(before?.size).toBe(2 + 12 * CONFIG.layers + 2)
  expect(after).toEqual(before)
})

test('dropout changes what is trained, by its seed, and not what is evaluated', async () => {
  const [one, other, none] = [await train([6], ADAPTERS, 11), await train([6], ADAPTERS, 12), await train([6], ADAPTERS, null)]
  // B starts at 0: in the first update, dropout shows in gradients alone.
  const norms = [one, other, none].map(({ reports }) => reports[0]!.gradNorm)
  for (const [a, b] of [
    [0, 1],
    [0, 2],
    [1, 2],
  ] as const)
    expect(Math.abs(norms[a]! / norms[b]! - 1)).toBeGreaterThan(1e-3)
  const trainee = one.trainees[0]!
  const before = await evaluate(trainee, [[0, 1], [2]])
  expect(await evaluate({ ...trainee, dropoutSeed: 99 }, [[0, 1], [2]])).toEqual(before)
})

test('[U6] a model of which a part is frozen trains alike on more ranks, and sends only what trains', async () => {
  const alone = await train([6], PART, null)
  expectAlike(await train([2, 4], PART, null), alone)
  const { model, sync } = alone.trainees[0]!
  expect(sync.buckets.flatMap(({ names }) => names).some((name) => /wte|mlp/.test(name))).toBe(false)
  expect(model.parameters.elements + (model.frozen?.elements ?? 0)).toBe(createModel(engines[1]!, CONFIG).parameters.elements)
})

test('an update with adapters uses what was compiled, and makes no buffer once it has run', async () => {
  const engine = await openTestEngine('lane')
  const trainee = createTrainee(engine, ADAPTERS, 1)
  await compileKernels(trainee)
  const { pipelines } = engine.counts
  const [reducer] = loopbackReducers(1)
  const update = (index: number) =>
    runUpdate(trainee, reducer!, { update: index, microBatches: [[0, 1], [2]], numItems: [0, 1, 2].reduce((sum, sample) => sum + itemsOf(sample), 0), learningRate: 0.01 })
  for (let index = 0; index < 3; index++) await update(index)
  const { buffers, bindGroups } = engine.counts
  for (let index = 3; index < 6; index++) await update(index)
  expect(engine.counts).toMatchObject({ pipelines, buffers, bindGroups })
  engine.close()
})

test('the backward ends at the lowest parameter that trains', async () => {
  const dispatches = async (freeze: readonly string[]): Promise<number> => {
    const trainee = createTrainee(engines[0]!, { freeze, lora: null }, null)
    const before = trainee.engine.counts.dispatches
    const [reducer] = loopbackReducers(1)
    await runUpdate(trainee, reducer!, { update: 0, microBatches: [[0]], numItems: itemsOf(0), learningRate: 0 })
    return trainee.engine.counts.dispatches - before
  }
  const all = await dispatches([])
  const forward = await dispatches(['transformer.wte', 'transformer.wpe', '*.h'])
  const half = await dispatches(['transformer.wte', 'transformer.wpe', '*.h.0'])
  expect(forward).toBeLessThan(half)
  expect(half).toBeLessThan(0.75 * all)
})

test('[U6] the hash of a state covers what is frozen', async () => {
  const hash = async (seed: number): Promise<string[]> => {
    const { engine, model, optimizer } = createTrainee(engines[0]!, PART, null)
    if (!model.frozen) throw new Error('nothing is frozen')
    initialiseModel(engine, [model.frozen], CONFIG, seed)
    return [await stateHash(engine, model.parameters, optimizer), await stateHash(engine, model.parameters, optimizer, await frozenDigest(engine, model.frozen))]
  }
  const [[trained, whole], [otherTrained, otherWhole]] = [await hash(5), await hash(6)]
  expect(otherTrained).toBe(trained)
  expect(otherWhole).not.toBe(whole)
})

test('[U1] keys depend on seed, update and sample, not on the row', () => {
  const keys = dropoutKeys([7, 3], { seed: 1, update: 2, rows: 3 })
  expect([...keys.subarray(4)]).toEqual([0, 0])
  expect([...dropoutKeys([3], { seed: 1, update: 2, rows: 1 })]).toEqual([...keys.subarray(2, 4)])
  const others = [
    dropoutKeys([7], { seed: 1, update: 3, rows: 1 }),
    dropoutKeys([7], { seed: 2, update: 2, rows: 1 }),
    dropoutKeys([8], { seed: 1, update: 2, rows: 1 }),
    dropoutKeys([7], { seed: 1, update: 2, rows: 1 }),
  ]
  expect(new Set(others.map(String)).size).toBe(4)
  expect(String(others[3])).toBe(String(keys.subarray(0, 2)))
})
