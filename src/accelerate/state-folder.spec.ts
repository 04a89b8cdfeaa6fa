import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { DataLoader } from './data-loader.ts'
import { AdamW, Sgd } from './optimizer.ts'
import { Scheduler } from './scheduler.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { TOY_ROWS, ToyModel } from './testing/toy-model.ts'
import type { World } from './world.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

const EPOCHS = 3

/** Trains to `until` updates, from the folder `from` if given, and saves at update `saveAt`. */
async function train(world: World, { until, saveAt = 0, from = null }: { until: number; saveAt?: number; from?: string | null }) {
  const accelerator = new Accelerator(world, { seed: 5 })
  const raw = new ToyModel()
  raw.extra.requiresGrad(false)
  const adamw = new AdamW(raw, { learningRate: 0.02 })
  const data = new DataLoader(TOY_ROWS, { batchSize: 3, splitBatches: true, shuffleSeed: 2, collate: (rows) => rows })
  const [model, optimizer, loader, scheduler] = await accelerator.prepare(raw, adamw, data, new Scheduler(adamw, { kind: 'cosine', totalSteps: 12 }))
  if (from !== null) await accelerator.loadState(from)
  const drawn: number[] = []
  for (let epoch = loader.epoch; epoch < EPOCHS && accelerator.step < until; epoch++) {
    for await (const rows of loader) {
      await accelerator.accumulate(model, async () => {
        await accelerator.backward(model.loss(rows))
        accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
        await accelerator.clipGradNorm(model, 1)
        await optimizer.step()
        scheduler.step()
        optimizer.zeroGrad()
      })
      drawn.push(accelerator.random.uniform())
      if (accelerator.step === saveAt) await accelerator.saveState('state')
      if (accelerator.step === until) break
    }
  }
  return { step: accelerator.step, rate: optimizer.learningRate, head: [...(await model.head.weight.tensor.read())], loss: accelerator.loss, last: drawn.at(-1) }
}

test.each([5, 8])('a script resumed after update %i, inside an epoch or at its end, goes on bit-equal', async (saveAt) => {
  const straight = await worlds.run(2, (world) => train(world, { until: 12 }))
  await worlds.run(2, (world) => train(world, { until: saveAt, saveAt }))
  const resumed = await worlds.run(2, (world) => train(world, { until: 12, from: 'state' }))
  expect(straight[0]?.step).toBe(12)
  expect(resumed).toEqual(straight)
  expect(straight[0]?.last).not.toBe(straight[1]?.last)
})

test('a state of two ranks is taken up by three, with the same losses', async () => {
  const [straight] = await worlds.run(2, (world) => train(world, { until: 9 }))
  await worlds.run(2, (world) => train(world, { until: 5, saveAt: 5 }))
  const [resumed] = await worlds.run(3, (world) => train(world, { until: 9, from: 'state' }))
  expect(Math.abs((resumed?.loss ?? 0) / (straight?.loss ?? 1) - 1)).toBeLessThan(1e-5)
})

test('a state of other objects is refused before anything changes, and none is saved inside a window', async () => {
  await worlds.run(1, async (world) => {
    await train(world, { until: 2, saveAt: 2 })
    const accelerator = new Accelerator(world, { gradientAccumulationSteps: 2, seed: 1 })
    const raw = new ToyModel()
    const [model] = await accelerator.prepare(raw, new Sgd(raw))
    const before = await model.head.weight.tensor.read()
    await expect(accelerator.loadState('state')).rejects.toThrow('Cannot load the state of state: it has 1 schedulers, need 0 as prepared')
    await expect(accelerator.loadState('nowhere')).rejects.toThrow('nowhere')
    expect(await model.head.weight.tensor.read()).toEqual(before)
    await accelerator.accumulate(model, () => accelerator.backward(model.loss(TOY_ROWS)))
    await expect(accelerator.saveState('other')).rejects.toThrow('1 of 2 micro-batches of a window are done')
  })
})
