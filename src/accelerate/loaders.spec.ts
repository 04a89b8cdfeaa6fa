import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { rankShare } from './batch-list.ts'
import { DataLoader } from './data-loader.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { SumModel } from './testing/toy-model.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

test.each([
  { samples: 9, ranks: 2, batchSize: 5, evenBatches: true },
  { samples: 9, ranks: 2, batchSize: 5, evenBatches: false },
  { samples: 11, ranks: 2, batchSize: 5, evenBatches: true },
  { samples: 11, ranks: 2, batchSize: 5, evenBatches: false },
  { samples: 1, ranks: 3, batchSize: 4, evenBatches: true },
  { samples: 1, ranks: 3, batchSize: 4, evenBatches: false },
  { samples: 10, ranks: 3, batchSize: 4, evenBatches: false, splitBatches: true },
  { samples: 10, ranks: 3, batchSize: 4, evenBatches: true, splitBatches: true },
])('gatherForMetrics drops exactly the stand-ins: %j', async ({ samples, ranks, ...settings }) => {
  const list = Array.from({ length: samples }, (_, index) => index)
  const results = await worlds.run(ranks, async (world) => {
    const accelerator = new Accelerator(world)
    const [loader] = await accelerator.prepare(new DataLoader(list, { ...settings, collate: (values) => [...values] }))
    const gathered: number[] = []
    let rows = 0
    for await (const batch of loader) {
      rows += batch.length
      gathered.push(...(await accelerator.gatherForMetrics(batch)))
    }
    return { gathered, rows }
  })
  for (const { gathered } of results) expect(gathered).toEqual(list)
  // With evenBatches all ranks have batches of one size.
  if (settings.evenBatches) expect(new Set(results.map(({ rows }) => rows)).size).toBe(1)
})

test('two results for each sample are gathered, and a number that does not fit the batch is refused', async () => {
  await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [loader] = await accelerator.prepare(new DataLoader([1, 2, 3], { batchSize: 2, evenBatches: true, collate: (values) => [...values] }))
    for await (const batch of loader) {
      expect(await accelerator.gatherForMetrics(batch.flatMap((value) => [value, -value]))).toEqual([1, -1, 2, -2, 3, -3])
      await expect(accelerator.gatherForMetrics([1, 2, 3])).rejects.toThrow('Cannot gather 3 results of a batch of 2 samples')
    }
  })
})

test('gather takes unequally many numbers, also none and more than a frame holds', async () => {
  const many = 9000
  const results = await worlds.run(3, async (world) => {
    const { rank } = world.group
    const accelerator = new Accelerator(world)
    const mine = Float64Array.from({ length: rank === 1 ? 0 : many + rank }, (_, index) => index + rank / 10)
    return [await accelerator.gather(mine), await accelerator.gather(rank + 0.1)]
  })
  const want = [...Array.from({ length: many }, (_, index) => index), ...Array.from({ length: many + 2 }, (_, index) => index + 0.2)]
  for (const result of results) expect(result).toEqual([want, [0.1, 1.1, 2.1]])
})

test('a batch that stands in adds neither gradient nor items', async () => {
  const results = await worlds.run(3, async (world) => {
    const accelerator = new Accelerator(world)
    const [model, loader] = await accelerator.prepare(new SumModel(), new DataLoader([5], { batchSize: 1, collate: (values) => [...values] }))
    for await (const batch of loader) await accelerator.accumulate(model, () => accelerator.backward(model.loss(world.engine, batch)))
    accelerator.multiplyGrads(accelerator.numRanks / accelerator.numItems)
    return [accelerator.numItems, accelerator.loss, (await accelerator.readGradients(model)).get('scalar')?.[0]]
  })
  for (const result of results) expect(result).toEqual([1, 5, 5])
})

test('a rank without any batch of its own is an error on all ranks that names it', async () => {
  const results = await worlds.settle(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [batches] = await accelerator.prepare(world.group.rank === 1 ? [] : [1])
    for await (const _ of batches) await accelerator.waitForEveryone()
  })
  for (const result of results) expect(result.status === 'rejected' && result.reason.message).toContain('rank 1 failed: Cannot loop on rank 1: it has no batch at all')
})

test('shuffled epochs hold each sample once, in another order each, and ranks split batches as one rank takes them', async () => {
  const list = Array.from({ length: 10 }, (_, index) => index)
  const epochs = async (ranks: number) =>
    worlds.run(ranks, async (world) => {
      const accelerator = new Accelerator(world)
      const [loader] = await accelerator.prepare(new DataLoader(list, { batchSize: 4, splitBatches: true, shuffleSeed: 7, collate: (values) => [...values] }))
      const orders: number[][] = []
      for (let epoch = 0; epoch < 2; epoch++) {
        const order: number[] = []
        for await (const batch of loader) order.push(...(await accelerator.gatherForMetrics(batch)))
        orders.push(order)
      }
      return orders
    })
  const [alone = []] = await epochs(1)
  for (const order of alone) expect(order.toSorted((a, b) => a - b)).toEqual(list)
  expect(alone[1]).not.toEqual(alone[0])
  expect(await epochs(3)).toEqual([alone, alone, alone])
})

test('shares lie side by side and differ by one sample at most', () => {
  const share = (rank: number) => rankShare(0, { rank, worldSize: 3, samples: 100, batchSize: 11, split: true })
  expect([share(0), share(1), share(2)]).toEqual([
    { start: 0, end: 4 },
    { start: 4, end: 8 },
    { start: 8, end: 11 },
  ])
})
