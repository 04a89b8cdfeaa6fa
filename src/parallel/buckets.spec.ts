import fc from 'fast-check'
import { expect, test } from 'vitest'
import { layOutParameters } from '../engine/parameters.ts'
import { layOutBuckets } from './buckets.ts'

const { slots, elements } = layOutParameters([
  { name: 'a', shape: [200] },
  { name: 'b', shape: [10] },
  { name: 'c', shape: [64, 2] },
])

test('buckets fill from the end and close before they exceed the cap', () => {
  expect(layOutBuckets(slots, elements, { capBytes: 192 * 4 })).toEqual([
    { offset: 256, length: 192, names: ['c', 'b'] },
    { offset: 64, length: 192, names: ['a'] },
    { offset: 0, length: 64, names: ['a'] },
  ])
})

test('the first bucket may be smaller', () => {
  const [first, second] = layOutBuckets(slots, elements, { capBytes: 4 * elements, firstCapBytes: 128 * 4 })
  expect(first).toEqual({ offset: 320, length: 128, names: ['c'] })
  expect(second).toEqual({ offset: 0, length: 320, names: ['b', 'a'] })
})

test('whatever the sizes, buckets cover the gradients once, stay under the cap and name what they hold', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 4000 }), (lengths, capBytes, firstCapBytes) => {
      const layout = layOutParameters(lengths.map((length, index) => ({ name: `p${index}`, shape: [length] })))
      const buckets = layOutBuckets(layout.slots, layout.elements, { capBytes, firstCapBytes })
      let end = layout.elements
      for (const { offset, length, names } of buckets) {
        expect(offset + length).toBe(end)
        expect(length).toBeLessThanOrEqual(Math.max(64, capBytes / 4))
        const inside = layout.slots.filter((slot) => slot.offset < end && slot.offset + Math.ceil(slot.length / 64) * 64 > offset)
        expect([...names].sort()).toEqual(inside.map(({ name }) => name).sort())
        end = offset
      }
      expect(end).toBe(0)
    }),
  )
})
