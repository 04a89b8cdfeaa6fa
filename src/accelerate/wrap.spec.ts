import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { AdamW } from './optimizer.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { TOY_ROWS, ToyModel } from './testing/toy-model.ts'
import { wrap } from './wrap.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

test('wrapping a model in which nothing requires a gradient fails', () => {
  expect(() => wrap(new ToyModel().requiresGrad(false))).toThrow('Cannot wrap ToyModel: none of its 6 parameters requires a gradient, need at least one')
})

test('prepare leaves such a model unwrapped and says so once; it trains as a no-op', async () => {
  const results = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new ToyModel().requiresGrad(false)
    const [model, optimizer] = await accelerator.prepare(raw, new AdamW(raw))
    expect(model).toBe(raw)
    const before = await model.head.weight.tensor.read()
    const sent = world.group.ring.bytesSent
    await accelerator.accumulate(model, () => accelerator.backward(model.loss(TOY_ROWS)))
    const bytes = world.group.ring.bytesSent - sent
    await optimizer.step()
    optimizer.zeroGrad()
    expect(await model.head.weight.tensor.read()).toEqual(before)
    return { numItems: accelerator.numItems, loss: accelerator.loss, bytes, skipped: optimizer.stepWasSkipped }
  })
  for (const { numItems, loss, bytes, skipped } of results) {
    expect(numItems).toBe(48)
    expect(loss).toBeGreaterThan(1)
    expect(bytes).toBeLessThan(500) // the totals alone
    expect(skipped).toBe(true)
  }
  expect(worlds.printed).toEqual([{ rank: 0, line: 'ToyModel is not wrapped: none of its 6 parameters requires a gradient (trainable 0)' }])
})

test('a frozen part keeps its values and gets no memory for gradients or moments', async () => {
  const [result] = await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const raw = new ToyModel()
    raw.embedding.requiresGrad(false)
    raw.hidden.requiresGrad(false)
    const [model, optimizer] = await accelerator.prepare(raw, new AdamW(raw, { learningRate: 0.1 }))
    const read = async () => [await model.embedding.weight.tensor.read(), await model.head.weight.tensor.read()] as const
    const before = await read()
    for (let step = 0; step < 2; step++) {
      await accelerator.accumulate(model, () => accelerator.backward(model.loss(TOY_ROWS)))
      await optimizer.step()
      optimizer.zeroGrad()
    }
    const after = await read()
    return { frozen: [before[0], after[0]], trained: [before[1], after[1]], names: [...(await accelerator.readGradients(model)).keys()] }
  })
  expect(result?.frozen[1]).toEqual(result?.frozen[0])
  expect(result?.trained[1]).not.toEqual(result?.trained[0])
  expect(result?.names).toEqual(['extra.weight', 'extra.bias', 'head.weight'])
})

test('a frozen model beside one that trains: its own backward is refused, the other is wrapped', async () => {
  await worlds.run(2, async (world) => {
    const accelerator = new Accelerator(world)
    const [teacher, student] = await accelerator.prepare(new ToyModel().requiresGrad(false), new ToyModel())
    await expect(accelerator.backward(teacher.loss(TOY_ROWS))).rejects.toThrow('the loss requires no gradient')
    await accelerator.backward(student.loss(TOY_ROWS))
    expect(accelerator.numItems).toBe(48)
  })
})

test('methods and attributes reach the inner model, wrapped or not, with and without .module', async () => {
  await worlds.run(1, async (world) => {
    const accelerator = new Accelerator(world)
    for (const raw of [new ToyModel(), new ToyModel().requiresGrad(false)]) {
      const [model] = await accelerator.prepare(raw)
      expect([model.predict(), model.module.predict(), raw.predict()]).toEqual(['hello 1', 'hello 2', 'hello 3'])
      expect([model.greeting, model.module.greeting]).toEqual(['hello', 'hello'])
      expect(accelerator.unwrapModel(model)).toBe(raw)
      expect(model.module).toBe(raw)
      expect(model).toBeInstanceOf(ToyModel)
      Object.assign(model, { note: 'set from outside' })
      expect(raw).toHaveProperty('note', 'set from outside')
      expect(await accelerator.prepare(model)).toEqual([model])
    }
  })
})

test('ranks that prepare different models are all told, with the same sentence', async () => {
  const results = await worlds.settle(2, async (world) => {
    const raw = new ToyModel()
    if (world.group.rank === 1) raw.head.requiresGrad(false)
    await new Accelerator(world).prepare(raw)
  })
  const sentences = results.map((result) => (result.status === 'rejected' ? result.reason.reason : 'no failure'))
  expect(sentences[0]).toContain('Cannot prepare ToyModel: rank 1 has 6 parameters')
  expect(sentences[1]).toBe(sentences[0])
})

test('all ranks start from rank 0, whatever their seeds, and parameters cannot be frozen afterwards', async () => {
  const values = await worlds.run(2, async (world) => {
    const [model] = await new Accelerator(world, { seed: world.group.rank }).prepare(new ToyModel())
    expect(() => model.requiresGrad(false)).toThrow('its model is prepared')
    return model.head.weight.tensor.read()
  })
  expect(values[1]).toEqual(values[0])
})
