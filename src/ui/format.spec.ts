import { describe, expect, it } from 'vitest'
import { bytes, compact, duration, loss, percent } from './format.ts'

describe('numbers for people', () => {
  it('are short', () => {
    expect([0, 999, 1000, 1_234_567, 999_600].map(compact)).toEqual(['0', '999', '1 k', '1.2 M', '1 M'])
    expect([12, 2_400_000].map(bytes)).toEqual(['12 B', '2.4 MB'])
    expect([75, 59.6, 3_700].map(duration)).toEqual(['1 min 15 s', '1 min 0 s', '1 h 1 min'])
    expect(percent(0.345)).toBe('35 %')
    expect(loss(2.34567)).toBe('2.346')
  })
  it('show a dash for what is not a number', () => {
    expect([compact(Number.NaN), duration(Number.POSITIVE_INFINITY), loss(Number.NaN), loss(undefined)]).toEqual(['–', '–', '–', '–'])
  })
})
