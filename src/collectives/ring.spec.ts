import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { HIGH_WATER_BYTES } from '../transport/link-base.ts'
import { loopbackRings } from './testing/loopback-rings.ts'

/** Values whose float32 sums depend on the order of adding. */
function values(count: number, rank: number, salt = 1): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, (_, index) => Math.sin(index * 12.9898 + rank * 78.233 + salt) * 10 ** ((index % 7) - 3))
}

function bits(data: Float32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(data.buffer)
}

async function checkAllReduce(worldSize: number, count: number): Promise<void> {
  using room = loopbackRings(worldSize)
  const data = room.rings.map((ring) => values(count, ring.rank))
  await Promise.all(room.rings.map((ring, rank) => ring.allReduce(data[rank] ?? new Float32Array(), { update: 0, collective: 0 })))
  const inputs = room.rings.map((ring) => values(count, ring.rank))
  const [first = new Float32Array()] = data
  const exact = Float64Array.from({ length: count }, (_, index) => inputs.reduce((sum, input) => sum + (input[index] ?? 0), 0))
  const scale = Float64Array.from({ length: count }, (_, index) => inputs.reduce((sum, input) => sum + Math.abs(input[index] ?? 0), 0))
  expect(exact.every((value, index) => Math.abs(value - (first[index] ?? 0)) <= 1e-6 * (scale[index] ?? 0))).toBe(true)
  for (const other of data) expect(Buffer.compare(bits(other), bits(first))).toBe(0)
  expect(room.rings.map(({ stats }) => stats)).toEqual(room.rings.map(() => ({ garbage: 0, otherGeneration: 0, unexpected: 0 })))
}

test.each([1, 2, 3, 4, 5])('[U6] the sum over %i ranks is right and bit-equal on all, at every size', async (worldSize) => {
  for (const count of [0, 1, worldSize - 1, worldSize, worldSize + 1, 16_378, 16_379, 16_378 * worldSize + 1, 100_003]) await checkAllReduce(worldSize, count)
})

test('[U6] any world and any size give the right sum with the same bits', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 60_000 }), (worldSize, count) => checkAllReduce(worldSize, count)),
    { numRuns: 60 },
  )
})

test('not-a-number and infinities of one rank reach all', async () => {
  using room = loopbackRings(3)
  const data = room.rings.map(() => new Float32Array(10))
  data[1]?.set([Number.NaN, Number.POSITIVE_INFINITY], 3)
  await Promise.all(room.rings.map((ring, rank) => ring.allReduce(data[rank] ?? new Float32Array(), { update: 0, collective: 0 })))
  for (const sums of data) expect([...sums.slice(2, 6)]).toEqual([0, Number.NaN, Number.POSITIVE_INFINITY, 0])
})

test('several collectives are under way at once, and a rank may begin late', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 2, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 2, maxLength: 5 }),
      fc.nat({ max: 4 }),
      async (worldSize, counts, late) => {
        using room = loopbackRings(worldSize)
        const all = await Promise.all(
          room.rings.map(async (ring, rank) => {
            if (rank === late) await new Promise((resolve) => setTimeout(resolve, 5))
            const data = counts.map((count, collective) => values(count, rank, collective))
            const votes = await Promise.all([
              ring.allGather(Uint8Array.of(rank), { update: 3, collective: counts.length }),
              ...data.map((array, collective) => ring.allReduce(array, { update: 3, collective })),
            ])
            expect(votes[0].map((bytes) => bytes[0])).toEqual(room.rings.map((_, index) => index))
            return data
          }),
        )
        for (const [collective] of counts.entries()) {
          const arrays = all.map((data) => bits(data[collective] ?? new Float32Array()))
          for (const array of arrays) expect(Buffer.compare(array, arrays[0] ?? new Uint8Array())).toBe(0)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test.each([1, 2, 3, 5])('a broadcast over %i ranks gives all the bytes of its root, whoever that is', async (worldSize) => {
  using room = loopbackRings(worldSize)
  for (let root = 0; root < worldSize; root++) {
    for (const [number, count] of [0, 1, 65_512, 65_513, 300_001].entries()) {
      const data = room.rings.map((_, rank) => new Uint8Array(count).fill(rank + 10))
      data[root]?.forEach((_, index, array) => {
        array[index] = (index * 7) % 251
      })
      await Promise.all(room.rings.map((ring, rank) => ring.broadcast(data[rank] ?? new Uint8Array(), root, { update: root, collective: number })))
      for (const bytes of data) expect(Buffer.compare(bytes, data[root] ?? new Uint8Array())).toBe(0)
    }
  }
})

test('a broadcast is not sent before its receiver is ready', async () => {
  using room = loopbackRings(2)
  const sent = new Uint8Array(1_000_000).fill(9)
  const sending = room.rings[0]?.broadcast(sent, 0, { update: 0, collective: 0 })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(room.rings[0]?.bytesSent).toBeLessThan(1_000)
  const received = new Uint8Array(1_000_000)
  await Promise.all([sending, room.rings[1]?.broadcast(received, 0, { update: 0, collective: 0 })])
  expect(Buffer.compare(received, sent)).toBe(0)
})

test('[F4] no rank ever has more than 128 KiB on the way', async () => {
  using room = loopbackRings(3)
  await Promise.all(room.rings.map((ring, rank) => ring.allReduce(values(500_000, rank), { update: 0, collective: 0 })))
  for (const link of room.next) expect(link.peakBytes).toBeLessThanOrEqual(HIGH_WATER_BYTES + 24)
})

test('each rank sends 2 (N - 1) / N of the data', async () => {
  using room = loopbackRings(4)
  await Promise.all(room.rings.map((ring, rank) => ring.allReduce(values(400_000, rank), { update: 0, collective: 0 })))
  const ideal = (2 * 3 * 400_000 * 4) / 4
  for (const { bytesSent } of room.rings) {
    expect(bytesSent).toBeGreaterThanOrEqual(ideal)
    expect(bytesSent).toBeLessThan(ideal * 1.001)
  }
})

test('a number that was used before is refused with both numbers', async () => {
  using room = loopbackRings(2)
  const run = () => Promise.all(room.rings.map((ring, rank) => ring.allReduce(values(10, rank), { update: 4, collective: 2 })))
  await run()
  await expect(run()).rejects.toThrow('Cannot start all-reduce 2 of update 4: number 2 of update 4 was started before')
})
