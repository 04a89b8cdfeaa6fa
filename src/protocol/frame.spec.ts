import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FrameHeader, buildFrame, HEADER_BYTES, MAX_FRAME_BYTES, parseFrame, relabel } from './frame.ts'

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const header: fc.Arbitrary<FrameHeader> = fc.record({
  kind: fc.constantFrom('reduce', 'gather', 'all-gather', 'broadcast', 'ready', 'alive', 'probe', 'abort'),
  generation: u32,
  update: u32,
  collective: u32,
  chunk: u32,
})

test('[F1] a frame comes back as it was built', () => {
  fc.assert(
    fc.property(header, fc.uint8Array({ maxLength: 100 }), (wanted, payload) => {
      const frame = parseFrame(buildFrame(wanted, payload))
      expect(frame).toMatchObject(wanted)
      expect([...(frame?.payload ?? [])]).toEqual([...payload])
    }),
  )
})

test('[F1] the header is 24 bytes, little-endian', () => {
  const bytes = buildFrame({ kind: 'gather', generation: 2, update: 0x01020304, collective: 5, chunk: 6 }, Uint8Array.of(9))
  expect([...bytes]).toEqual([0xb1, 0x7a, 1, 1, 2, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 9])
})

test('[J6] parsing garbage gives null and never throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const copy = new Uint8Array(bytes)
      expect(parseFrame(copy)).toBeNull()
    }),
    // A random frame that is valid has a chance of about 2^-60.
    { numRuns: 500 },
  )
})

test('[J6] one changed byte of magic, version, kind or length is noticed', () => {
  for (const place of [0, 1, 2, 3, 20, 21, 22, 23]) {
    const bytes = buildFrame({ kind: 'reduce', generation: 1, update: 1, collective: 1, chunk: 1 }, new Uint8Array(8))
    bytes[place] = (bytes[place] ?? 0) ^ 0xff
    expect(parseFrame(bytes), `byte ${place}`).toBeNull()
  }
})

test('[F3] a frame of more than 64 KiB is refused', () => {
  const whole = buildFrame({ kind: 'reduce', generation: 1, update: 1, collective: 1, chunk: 1 }, new Uint8Array(MAX_FRAME_BYTES - HEADER_BYTES))
  expect(parseFrame(whole)).not.toBeNull()
  const larger = buildFrame({ kind: 'reduce', generation: 1, update: 1, collective: 1, chunk: 1 }, new Uint8Array(MAX_FRAME_BYTES - HEADER_BYTES + 1))
  expect(parseFrame(larger)).toBeNull()
})

test('relabelling changes the kind alone', () => {
  const bytes = buildFrame({ kind: 'reduce', generation: 1, update: 2, collective: 3, chunk: 4 }, Uint8Array.of(7))
  relabel(bytes, 'gather')
  expect(parseFrame(bytes)).toMatchObject({ kind: 'gather', generation: 1, update: 2, collective: 3, chunk: 4 })
})
