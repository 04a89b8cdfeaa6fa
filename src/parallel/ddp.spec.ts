import { afterAll, beforeAll, expect, test } from 'vitest'
import { deferred } from '../base/deferred.ts'
import type { Engine } from '../engine/engine.ts'
import { createParameters } from '../engine/parameters.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { GradientSync } from './ddp.ts'
import type { Reducer } from './reducer.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane')
})
afterAll(() => engine.close())

/** Three buckets of one parameter each; c is the first. */
function setUp() {
  const parameters = createParameters(
    engine,
    ['a', 'b', 'c'].map((name) => ({ name, shape: [64] })),
  )
  engine.write(
    parameters.gradients,
    Float32Array.from({ length: 192 }, (_, index) => index),
  )
  return { parameters, sync: new GradientSync(engine, parameters, { capBytes: 256 }) }
}

/** Doubles what it gets, as an equal partner would, and notes the calls. */
function doubling(): Reducer & { readonly calls: string[]; readonly heard: Promise<void> } {
  const first = deferred<void>()
  const calls: string[] = []
  return {
    rank: 0,
    worldSize: 2,
    sendingMs: 0,
    calls,
    heard: first.promise,
    async allReduce(data, { update, collective }) {
      calls.push(`${update}/${collective}: ${data[0]}`)
      for (const [index, value] of data.entries()) data[index] = 2 * value
      first.resolve()
    },
    allGather: async (mine) => [mine, mine],
  }
}

test('a bucket leaves as soon as its gradients are final, before the backward has reached the others', async () => {
  const { parameters, sync } = setUp()
  const reducer = doubling()
  const window = sync.begin(reducer, 5)
  window.ready('c')
  await reducer.heard
  expect(reducer.calls).toEqual(['5/0: 128'])
  window.ready('b')
  window.ready('a')
  await window.finish()
  expect(reducer.calls).toEqual(['5/0: 128', '5/1: 64', '5/2: 0'])
  const sums = new Float32Array(await engine.readBytes(parameters.gradients, 192 * 4))
  expect([...sums]).toEqual(Array.from({ length: 192 }, (_, index) => 2 * index))
})

test('buckets keep their order when gradients become final in another, and parameters never used are sent at the end', async () => {
  const { sync } = setUp()
  const reducer = doubling()
  const window = sync.begin(reducer, 0)
  window.ready('a')
  window.ready('b')
  await engine.idle()
  expect(reducer.calls).toEqual([])
  await window.finish()
  expect(reducer.calls).toEqual(['0/0: 128', '0/1: 64', '0/2: 0'])
})

test('a rank that failed sends zeros for what it had not sent', async () => {
  const { sync } = setUp()
  const reducer = doubling()
  const window = sync.begin(reducer, 0)
  window.ready('c')
  await window.finishWithZeros()
  expect(reducer.calls).toEqual(['0/0: 128', '0/1: 0', '0/2: 0'])
})

test('a broken ring rejects once, starts no later collective and gives all mapped memory back', async () => {
  const { sync } = setUp()
  await sync.begin(doubling(), 0).finish()
  const { buffers } = engine.counts
  let calls = 0
  const broken: Reducer = {
    ...doubling(),
    allReduce: async () => {
      calls++
      throw new Error('rank 1 has left')
    },
  }
  for (let attempt = 0; attempt < 3; attempt++) await expect(sync.begin(broken, 1).finish()).rejects.toThrow('rank 1 has left')
  expect(calls).toBe(3)
  expect(engine.counts.buffers).toBe(buffers)
})
