import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_PAYLOAD_BYTES } from '../protocol/frame.ts'
import { ChunkLayout } from './chunk-layout.ts'

test('[F3] chunks cover every element once, in order, and fit a frame', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300_000 }), fc.integer({ min: 2, max: 9 }), (count, worldSize) => {
      const layout = new ChunkLayout(count, worldSize)
      let next = 0
      let segment = 0
      for (let number = 0; number < layout.chunks; number++) {
        const chunk = layout.chunk(number)
        expect(chunk?.start).toBe(next)
        expect(chunk?.segment).toBeGreaterThanOrEqual(segment)
        expect(chunk?.length).toBeGreaterThan(0)
        expect((chunk?.length ?? 0) * 4).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES)
        segment = chunk?.segment ?? 0
        next += chunk?.length ?? 0
      }
      expect(next).toBe(count)
      expect(layout.chunk(layout.chunks)).toBeNull()
    }),
  )
})

test('a segment of fewer elements than ranks may be empty', () => {
  const layout = new ChunkLayout(2, 4)
  expect([0, 1, 2, 3].map((segment) => layout.range(segment).end - layout.range(segment).first)).toEqual([0, 1, 0, 1])
})
