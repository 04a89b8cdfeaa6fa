import { afterAll, expect, test } from 'vitest'
import { Accelerator } from './accelerator.ts'
import { JsonLinesTracker } from '../trackers/json-lines-tracker.ts'
import { RankFailure, failureOf } from './rank-failure.ts'
import { LoopbackWorlds } from './testing/loopback-worlds.ts'
import { SumModel } from './testing/toy-model.ts'
import type { Tracker } from '../trackers/tracker.ts'

const worlds = new LoopbackWorlds()
afterAll(() => worlds.close())

test('what one rank throws reaches every rank, with rank, message and stack, within a second', async () => {
  let thrownAt = 0
  const results = await worlds.settle(3, async (world) => {
    const accelerator = new Accelerator(world)
    const [model] = await accelerator.prepare(new SumModel())
    for (let step = 0; step < 10; step++) {
      if (step === 2 && accelerator.rank === 1) {
        thrownAt = performance.now()
        throw new TypeError('no such episode')
      }
      await accelerator.accumulate(model, () => accelerator.backward(model.loss(world.engine, [1])))
    }
  })
  expect(performance.now() - thrownAt).toBeLessThan(1_000)
  for (const result of results) {
    const reason: unknown = result.status === 'rejected' ? result.reason : null
    if (!(reason instanceof RankFailure)) throw new Error('no failure')
    expect([reason.rank, reason.reason]).toEqual([1, 'no such episode'])
    expect(reason.remoteStack).toContain('run-rank.spec.ts')
  }
})

test('a failure keeps its rank through the ring, and lines of a message become one', () => {
  const first = failureOf(2, new Error('two\n  lines'))
  const heard = failureOf(0, new Error(`Cannot finish all-reduce 0 of update 3: rank 1 has given it up: ${first.message}`))
  expect([heard.rank, heard.reason]).toEqual([2, 'two lines'])
  expect(heard.remoteStack).toBe(first.remoteStack)
  expect(failureOf(1, 'a string').reason).toBe('a string')
})

test('a rank that fails after the others have ended still fails all', async () => {
  const results = await worlds.settle(2, async ({ group }) => {
    await new Promise((resolve) => setTimeout(resolve, group.rank * 50))
    if (group.rank === 1) throw new Error('late')
  })
  for (const result of results) expect(result.status === 'rejected' && result.reason.message).toContain('rank 1 failed: late')
})

test('prints come from the main rank alone', async () => {
  await worlds.run(3, async (world) => new Accelerator(world).print('loss', 1.5))
  expect(worlds.printed).toEqual([{ rank: 0, line: 'loss 1.5' }])
})

test.each([1, 3])('on %i ranks trackers receive each value once, from the main rank', async (ranks) => {
  const calls: string[] = []
  await worlds.run(ranks, async (world) => {
    const tracker: Tracker = {
      name: 'notes',
      start: async ({ project }) => void calls.push(`${world.group.rank} start ${project}`),
      log: async (values, step) => void calls.push(`${world.group.rank} ${step} ${JSON.stringify(values)}`),
      finish: async () => void calls.push(`${world.group.rank} finish`),
    }
    const accelerator = new Accelerator(world, { logWith: [tracker, new JsonLinesTracker(world.files, `run-${ranks}.jsonl`)] })
    await accelerator.initTrackers('toy', { ranks })
    await accelerator.log({ loss: 2 }, { step: 1 })
    await accelerator.log({ loss: 1 }, { step: 2 })
    await accelerator.endTraining()
  })
  expect(calls).toEqual(['0 start toy', '0 1 {"loss":2}', '0 2 {"loss":1}', '0 finish'])
  const lines = worlds.files.text(`run-${ranks}.jsonl`).trim().split('\n')
  expect(lines.slice(1, 3)).toEqual(['{"step":1,"loss":2}', '{"step":2,"loss":1}'])
  expect(lines.length).toBe(4)
})
