import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { DataLoader } from './data-loader.ts'
import { AdamW, Sgd } from './optimizer.ts'
import { Scheduler } from './scheduler.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { SumModel, TOY_ROWS, ToyModel } from './testing/toy-model.ts'
import type { World } from './world.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

/** The gradient after one window whose micro-batches, by rank, are lists of their targets' gradients. */
async function windowOf(world: World, byRank: readonly (readonly (readonly number[])[])[]): Promise<{ gradient: number; norm: number; loss: number; numItems: number }> {
  const accelerator = new Accelerator(world)
  const [model] = await accelerator.prepare(new SumModel())
  const mine = await accelerator.prepare(byRank[world.group.rank] ?? [])
  const [batches] = mine
  let norm = 0
  const steps = Math.max(...byRank.map(({ length }) => length))
  let at = 0
  for await (const gradients of batches) {
    const ends = ++at === steps
    const backward = async () => accelerator.backward(model.loss(world.engine, gradients))
    await (ends ? backward() : accelerator.noSync(model, backward))
    if (ends) {
      accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
      norm = await accelerator.clipGradNorm(model, 0)
    }
  }
  const gradient = (await accelerator.readGradients(model)).get('scalar')?.[0] ?? Number.NaN
  return { gradient, norm, loss: accelerator.loss, numItems: accelerator.numItems }
}

test('gradient and loss are the mean over all targets of all ranks: 4.0, neither 4.25 nor 3.6', async () => {
  const results = await worlds.run(2, (world) =>
    windowOf(world, [
      [[1, 1], [4]],
      [
        [2, 2, 2],
        [10, 10],
      ],
    ]),
  )
  expect(results).toEqual([0, 1].map(() => ({ gradient: 4, norm: 4, loss: 4, numItems: 8 })))
})

test('ranks with 3, 2 and 1 batches finish, with the gradient of one rank that has them all', async () => {
  const [alone] = await worlds.run(1, (world) => windowOf(world, [[[1, 2], [3], [4], [5, 6], [7], [8]]]))
  const ranks = await worlds.run(3, (world) => windowOf(world, [[[1, 2], [3], [4]], [[5, 6], [7]], [[8]]]))
  expect(alone).toEqual({ gradient: 4.5, norm: 4.5, loss: 4.5, numItems: 8 })
  for (const rank of ranks) expect(rank).toEqual(alone)
})

test('a window that is summed over ranks twice counts each micro-batch once', async () => {
  const gradients = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [model] = await accelerator.prepare(new SumModel())
    for (const value of [1, 2]) await accelerator.backward(model.loss(world.engine, [value + 10 * world.group.rank]))
    return (await accelerator.readGradients(model)).get('scalar')?.[0]
  })
  expect(gradients).toEqual([13, 13]) // the mean of 1 + 2 and 11 + 12
})

test('gradients that were multiplied take no more before zeroGrad, and those of one rank alone cannot be used', async () => {
  await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new SumModel()
    const [model, optimizer] = await accelerator.prepare(raw, new Sgd(raw))
    await accelerator.noSync(model, () => accelerator.backward(model.loss(world.engine, [1])))
    expect(() => accelerator.multiplyGrads(1)).toThrow("they are this rank's alone")
    await expect(accelerator.clipGradNorm(model, 1)).rejects.toThrow("they are this rank's alone")
    await expect(optimizer.step()).rejects.toThrow('Cannot step with the gradients of SumModel')
    await accelerator.backward(model.loss(world.engine, [1]))
    accelerator.multiplyGrads(2)
    await expect(accelerator.backward(model.loss(world.engine, [1]))).rejects.toThrow('need optimizer.zeroGrad() before')
    world.engine.tape.clear()
  })
})

test('the norm returned is the one before clipping, of the mean; no parameter that trains is an error', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new SumModel()
    const [model, frozen] = await accelerator.prepare(raw, new SumModel().requiresGrad(false))
    await accelerator.backward(model.loss(world.engine, [3 + 2 * world.group.rank]))
    const norm = await accelerator.clipGradNorm(model, 1)
    await expect(accelerator.clipGradNorm(frozen, 1)).rejects.toThrow('Cannot clip the gradient norm: no parameter requires a gradient')
    return { norm, clipped: (await accelerator.readGradients(model)).get('scalar')?.[0] }
  })
  for (const { norm, clipped } of results) {
    expect(norm).toBe(4)
    expect(clipped).toBeCloseTo(1, 5)
  }
})

/** Trains on twelve rows in windows of six, whatever the ranks and micro-batches. */
async function train(world: World, { batchSize, accumulation, withExtra = false }: { batchSize: number; accumulation: number; withExtra?: boolean }) {
  const accelerator = new Accelerator(world, { gradientAccumulationSteps: accumulation, seed: 3 })
  const raw = new ToyModel()
  const adamw = new AdamW(raw, { learningRate: 0.01 })
  const data = new DataLoader(TOY_ROWS, { batchSize, splitBatches: true, shuffleSeed: 1, collate: (rows) => rows })
  const [model, optimizer, loader, scheduler] = await accelerator.prepare(raw, adamw, data, new Scheduler(adamw, { kind: 'linear', totalSteps: 6 }))
  const losses: number[] = []
  const rates: number[] = []
  for (let epoch = 0; epoch < 3; epoch++) {
    for await (const rows of loader) {
      await accelerator.accumulate(model, async () => {
        await accelerator.backward(model.loss(rows, { withExtra: withExtra && world.group.rank === 0 }))
        if (accelerator.syncGradients) {
          accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
          await accelerator.clipGradNorm(model, 1)
          losses.push(accelerator.loss)
          rates.push(optimizer.learningRate)
        }
        await optimizer.step()
        scheduler.step()
        optimizer.zeroGrad()
      })
    }
  }
  return { losses, rates, step: accelerator.step }
}

test('one rank and three, with and without accumulation, have the same losses, and one rate for each committed update', async () => {
  const [alone] = await worlds.run(1, (world) => train(world, { batchSize: 6, accumulation: 1 }))
  if (!alone) throw new Error('no result')
  expect(alone.losses.length).toBe(6)
  expect(alone.losses.at(-1)).toBeLessThan(alone.losses[0] ?? 0)
  const want = [0.01, 0.008333, 0.006667, 0.005, 0.003333, 0.001667]
  for (const [ranks, batchSize, accumulation] of [
    [1, 2, 3],
    [3, 6, 1],
    [2, 3, 2],
  ] as const) {
    for (const result of await worlds.run(ranks, (world) => train(world, { batchSize, accumulation }))) {
      expect(result.step).toBe(6)
      for (const [index, rate] of result.rates.entries()) expect(rate).toBeCloseTo(want[index] ?? 0, 6)
      for (const [index, loss] of result.losses.entries()) expect(Math.abs(loss / (alone.losses[index] ?? 0) - 1)).toBeLessThan(1e-5)
    }
  }
})

test('a layer that is used on one rank only trains on both, with the same result', async () => {
  const [first, second] = await worlds.run(2, (world) => train(world, { batchSize: 6, accumulation: 1, withExtra: true }))
  const [without] = await worlds.run(2, (world) => train(world, { batchSize: 6, accumulation: 1 }))
  expect(first).toEqual(second)
  expect(first?.losses.at(-1)).not.toBe(without?.losses.at(-1))
})

test('a gradient that is not finite on one rank skips the step on all, and the schedule stays', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new SumModel()
    const sgd = new Sgd(raw, { learningRate: 1 })
    const [model, optimizer, scheduler] = await accelerator.prepare(raw, sgd, new Scheduler(sgd, { kind: 'linear', totalSteps: 4 }))
    const skipped: boolean[] = []
    for (const value of [1, 2, 3]) {
      await accelerator.backward(model.loss(world.engine, [value === 2 && world.group.rank === 1 ? Number.NaN : value]))
      await optimizer.step()
      scheduler.step()
      skipped.push(optimizer.stepWasSkipped)
      optimizer.zeroGrad()
    }
    return { skipped, rate: optimizer.learningRate, scalar: [...(await model.scalar.tensor.read())], step: accelerator.step }
  })
  // 1 at rate 1 and 3 at rate 0.75
  for (const result of results) expect(result).toEqual({ skipped: [false, true, false], rate: 0.5, scalar: [-3.25], step: 2 })
})

test('a window without targets changes nothing and does not advance the schedule', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new ToyModel()
    const adamw = new AdamW(raw)
    const [model, optimizer] = await accelerator.prepare(raw, adamw)
    const before = [...(await model.head.weight.tensor.read())]
    const masked = model.loss([[1, 2, 3]])
    await accelerator.backward({ ...masked, items: 0 })
    accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
    await optimizer.step()
    return { before, after: [...(await model.head.weight.tensor.read())], skipped: optimizer.stepWasSkipped }
  })
  for (const { after, before, skipped } of results) {
    expect(skipped).toBe(true)
    expect(after).toEqual(before)
  }
})
