import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildFrame, HEADER_BYTES } from '../protocol/frame.ts'
import { loopbackPair } from '../transport/loopback.ts'
import { createRing } from './ring.ts'
import { type LoopbackRings, loopbackRings } from './testing/loopback-rings.ts'

const turn = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms))

/** Starts an all-reduce on the given ranks; the text of each one's end. */
function reduceOn(room: LoopbackRings, ranks: readonly number[], count = 50_000): Promise<string>[] {
  return ranks.map(async (rank) => {
    try {
      await room.rings[rank]?.allReduce(new Float32Array(count), { update: 7, collective: 3 })
      return 'done'
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause)
    }
  })
}

test.each([2, 3, 4])('[M7] a cut link ends what is under way on all of %i ranks, with a sentence naming the neighbour', async (worldSize) => {
  using room = loopbackRings(worldSize)
  const ends = reduceOn(
    room,
    room.rings.slice(1).map(({ rank }) => rank),
  )
  await turn()
  room.next[0]?.cut('the tab was killed')
  const told = await Promise.all(ends)
  for (const end of told) expect(end).toContain('Cannot finish all-reduce 3 of update 7: ')
  expect(told[0]).toBe('Cannot finish all-reduce 3 of update 7: the link to rank 0 is closed: the tab was killed')
  expect(room.rings.every(({ failed }) => failed)).toBe(true)
  for (const failures of room.failures) expect(failures).toHaveLength(1)
  expect(room.failures[0]?.[0]).toBe('The ring of generation 1 is broken: the link to rank 1 is closed: the tab was killed')
})

test('[M3] an abort ends everything under way at once, here and all around', async () => {
  using room = loopbackRings(4)
  const ends = reduceOn(room, [0, 1, 2])
  const second = room.rings[1]?.allGather(new Uint8Array(8), { update: 7, collective: 4 })
  second?.catch(() => {})
  await turn()
  const startedMs = performance.now()
  room.rings[1]?.abort('rank 3 has left')
  const told = await Promise.all(ends)
  expect(performance.now() - startedMs).toBeLessThan(1000)
  expect(told[1]).toBe('Cannot finish all-reduce 3 of update 7: rank 3 has left')
  expect(told[0]).toBe('Cannot finish all-reduce 3 of update 7: rank 1 has given it up: rank 3 has left')
  await expect(second).rejects.toThrow('Cannot finish all-gather 4 of update 7: rank 3 has left')
  await turn()
  for (const failures of room.failures) expect(failures).toHaveLength(1)
  await expect(room.rings[1]?.broadcast(new Uint8Array(1), 0, { update: 8, collective: 0 })).rejects.toThrow(
    'Cannot start broadcast 0 of update 8: the ring is broken: rank 3 has left',
  )
})

test('[M7] a collective that a rank never joins ends at the deadline, naming whom it waits for', async () => {
  using room = loopbackRings(3, { deadlineMs: 600 })
  const startedMs = performance.now()
  const told = await Promise.all(reduceOn(room, [0, 1]))
  expect(performance.now() - startedMs).toBeLessThan(2_500)
  // Rank 2 has not begun: rank 0 waits for it, and rank 1 hears of that or waits for rank 0.
  expect(told.some((end) => /nothing has come from rank [02] for \d+\.\d s/.test(end))).toBe(true)
})

test('without a collective under way no deadline runs', async () => {
  using room = loopbackRings(2, { deadlineMs: 300 })
  await turn(900)
  expect(room.failures).toEqual([[], []])
})

test('[M2] a neighbour that falls silent is asked and then given up within four seconds, also with nothing under way', async () => {
  using room = loopbackRings(2)
  await turn(600)
  room.next[1]?.freeze()
  const startedMs = performance.now()
  while (!room.rings[0]?.failed && performance.now() - startedMs < 6_000) await turn(50)
  const tookMs = performance.now() - startedMs
  expect(tookMs).toBeGreaterThan(2_900)
  expect(tookMs).toBeLessThan(4_000)
  expect(room.failures[0]).toEqual(['The ring of generation 1 is broken: rank 1 does not answer: silent for 3.5 s, also when asked'])
})

test('[M2] idle neighbours keep each other alive, and one that has not come up yet is not given up', async () => {
  using room = loopbackRings(3)
  const [left] = loopbackPair(['here', 'not up yet'])
  const lonely = createRing({ rank: 0, worldSize: 2, generation: 1, next: left, previous: left, deadlineMs: 10_000 })
  await turn(3_000)
  expect(room.failures).toEqual([[], [], []])
  expect(lonely.failed).toBe(false)
  lonely.abort('the test is over')
})

test('[F2] frames of another generation are dropped and counted', async () => {
  using room = loopbackRings(2, { generation: 5 })
  room.next[0]?.inject(buildFrame({ kind: 'reduce', generation: 4, update: 7, collective: 3, chunk: 0 }, new Uint8Array(8)))
  room.next[0]?.inject(buildFrame({ kind: 'abort', generation: 6, update: 0, collective: 0, chunk: 0 }))
  expect(await Promise.all(reduceOn(room, [0, 1]))).toEqual(['done', 'done'])
  expect(room.rings[1]?.stats).toEqual({ garbage: 0, otherGeneration: 2, unexpected: 0 })
})

test('[J6] garbage, wrong lengths, wrong numbers and repeats are dropped and counted; the sum stays right', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), fc.integer({ min: 2, max: 4 }), async (garbage, worldSize) => {
      using room = loopbackRings(worldSize)
      for (const link of room.next) {
        for (const bytes of garbage) link.inject(bytes)
        const header = { generation: 1, update: 7, collective: 3 }
        link.inject(buildFrame({ ...header, kind: 'reduce', chunk: 0 }, new Uint8Array(3)))
        link.inject(buildFrame({ ...header, kind: 'gather', chunk: 4_000_000_000 }, new Uint8Array(4)))
        link.inject(buildFrame({ ...header, kind: 'broadcast', chunk: 0 }, new Uint8Array(4)))
      }
      const data = room.rings.map(({ rank }) => new Float32Array(1_000).fill(rank + 1))
      await Promise.all(room.rings.map((ring, rank) => ring.allReduce(data[rank] ?? new Float32Array(), { update: 7, collective: 3 })))
      const sum = (worldSize * (worldSize + 1)) / 2
      for (const array of data) expect(array.every((value) => value === sum)).toBe(true)
      for (const { stats } of room.rings) expect(stats).toEqual({ garbage: garbage.length, otherGeneration: 0, unexpected: 2 })
    }),
    { numRuns: 25 },
  )
})

test('[J6] a frame of a collective that is over is dropped and counted', async () => {
  using room = loopbackRings(2)
  await Promise.all(reduceOn(room, [0, 1]))
  room.next[0]?.inject(buildFrame({ kind: 'reduce', generation: 1, update: 7, collective: 3, chunk: 0 }, new Uint8Array(8)))
  await turn()
  expect(room.rings[1]?.stats.unexpected).toBe(1)
})

test('a frame that does not lie on whole words is read all the same', async () => {
  const [left, right] = loopbackPair(['rank 0', 'rank 1'])
  const ring = createRing({ rank: 1, worldSize: 2, generation: 1, next: right, previous: right, deadlineMs: 5_000 })
  const sending = ring.allReduce(Float32Array.of(1, 2), { update: 0, collective: 0 })
  const frames = [
    buildFrame({ kind: 'reduce', generation: 1, update: 0, collective: 0, chunk: 0 }, new Uint8Array(Float32Array.of(10).buffer)),
    buildFrame({ kind: 'gather', generation: 1, update: 0, collective: 0, chunk: 1 }, new Uint8Array(Float32Array.of(22).buffer)),
  ]
  for (const frame of frames) {
    const shifted = new Uint8Array(HEADER_BYTES + 5)
    shifted.set(frame, 1)
    right.onFrame?.(shifted.subarray(1))
  }
  await sending
  left.onFrame = () => {}
  ring.abort('the test is over')
})

test('a link that is already closed fails the ring and still tells', async () => {
  const [left, right] = loopbackPair(['rank 0', 'rank 1'])
  right.close('gone')
  await turn()
  const ring = createRing({ rank: 0, worldSize: 2, generation: 1, next: left, previous: left, deadlineMs: 5_000 })
  const told: string[] = []
  ring.onFailure = (cause) => told.push(cause.message)
  await turn()
  expect(told).toEqual(['The ring of generation 1 is broken: the link to rank 1 is closed: closed by the other side: gone'])
})

test('an abort that came before the ring was made still tells', async () => {
  const [left, right] = loopbackPair(['rank 0', 'rank 1'])
  right.send(buildFrame({ kind: 'abort', generation: 1, update: 0, collective: 0, chunk: 0 }, new TextEncoder().encode('out of memory')))
  await turn()
  const ring = createRing({ rank: 0, worldSize: 2, generation: 1, next: left, previous: left, deadlineMs: 5_000 })
  const told: string[] = []
  ring.onFailure = (cause) => told.push(cause.message)
  await turn()
  expect(told).toEqual(['The ring of generation 1 is broken: rank 1 has given it up: out of memory'])
})
