import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { AdamW } from './optimizer.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { SumModel, TOY_ROWS, ToyModel } from './testing/toy-model.ts'
import type { World } from './world.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

test('the bytes sent in a window of eight micro-batches equal those for one, by accumulate and by noSync around backward only', async () => {
  async function bytesOf(world: World, microBatches: number, by: 'accumulate' | 'noSync'): Promise<number> {
    const accelerator = new Accelerator(world, { gradientAccumulationSteps: microBatches })
    const [model] = await accelerator.prepare(new ToyModel())
    await accelerator.waitForEveryone()
    const before = world.group.ring.bytesSent
    for (let index = 1; index <= microBatches; index++) {
      const loss = () => accelerator.backward(model.loss(TOY_ROWS))
      if (by === 'accumulate') await accelerator.accumulate(model, loss)
      else await (index === microBatches ? loss() : accelerator.noSync(model, loss))
    }
    return world.group.ring.bytesSent - before
  }
  // Four matrices of 8 x 8. Heartbeats come by the clock, 24 bytes each, but never so many.
  const gradientBytes = 4 * 64 * 4
  const [one] = await worlds.run(2, (world) => bytesOf(world, 1, 'accumulate'))
  if (one === undefined) throw new Error('no result')
  expect(one).toBeGreaterThan(gradientBytes)
  for (const by of ['accumulate', 'noSync'] as const) {
    for (const eight of await worlds.run(2, (world) => bytesOf(world, 8, by))) expect(Math.abs(eight - one)).toBeLessThan(gradientBytes)
  }
})

test('noSync does nothing and does not fail on what is not wrapped', async () => {
  await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [frozen] = await accelerator.prepare(new ToyModel().requiresGrad(false))
    for (const model of [frozen, new ToyModel(), null, undefined, {}, { noSync: 'no method' }, [null, frozen]]) {
      expect(await accelerator.noSync(model, () => 'done')).toBe('done')
    }
  })
})

test('nested noSync and exceptions leave it as it was', async () => {
  const gradients = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [model] = await accelerator.prepare(new SumModel())
    const backward = (value: number) => accelerator.backward(model.loss(world.engine, [value]))
    await accelerator.noSync(model, async () => {
      await accelerator.noSync(model, () => backward(1))
      await expect(
        accelerator.noSync(model, () => {
          throw new Error('inside')
        }),
      ).rejects.toThrow('inside')
      await backward(2) // still inside the outer one
    })
    expect(() => accelerator.multiplyGrads(1)).toThrow("this rank's alone")
    await backward(4)
    return (await accelerator.readGradients(model)).get('scalar')?.[0]
  })
  expect(gradients).toEqual([7, 7])
})

test('of two models, the one that is not frozen still skips its sums', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [frozen, model] = await accelerator.prepare(new ToyModel().requiresGrad(false), new SumModel())
    await accelerator.waitForEveryone()
    const before = world.group.ring.bytesSent
    await accelerator.noSync([frozen, model], () => accelerator.backward(model.loss(world.engine, [1])))
    return world.group.ring.bytesSent - before
  })
  for (const bytes of results) expect(bytes).toBeLessThanOrEqual(24 * 4) // no more than heartbeats
})

test('accumulate steps once for each window, the last short one included', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world, { gradientAccumulationSteps: 4 })
    const raw = new SumModel()
    const [model, optimizer, batches] = await accelerator.prepare(raw, new AdamW(raw), [1, 1, 1, 1, 1])
    const norms: number[] = []
    for await (const value of batches) {
      await accelerator.accumulate(model, async () => {
        await accelerator.backward(model.loss(world.engine, [value]))
        if (accelerator.syncGradients) {
          accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
          norms.push(await accelerator.clipGradNorm(model, 0))
        }
        await optimizer.step()
        optimizer.zeroGrad()
      })
    }
    return { norms, step: accelerator.step }
  })
  for (const result of results) expect(result).toEqual({ norms: [1, 1], step: 2 })
})

test('an exception inside accumulate leaves nothing for the next micro-batch', async () => {
  const gradients = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [model] = await accelerator.prepare(new SumModel())
    await expect(
      accelerator.accumulate(model, () => {
        model.loss(world.engine, [100])
        throw new Error('inside')
      }),
    ).rejects.toThrow('inside')
    await accelerator.accumulate(model, () => accelerator.backward(model.loss(world.engine, [1])))
    return (await accelerator.readGradients(model)).get('scalar')?.[0]
  })
  expect(gradients).toEqual([1, 1])
})
