import { describe, expect, it } from 'vitest'
import { bytes, compact, duration, loss, percent, short, whole } from './format.ts'

describe('numbers for people', () => {
  it('are short', () => {
    expect([0, 999, 1000, 1_234_567, 999_600, 806_400].map(compact)).toEqual(['0', '999', '1 k', '1.2 M', '1 M', '806 k'])
    expect([12, 999.4, 2_400_000].map(bytes)).toEqual(['12 B', '999 B', '2.4 MB'])
    expect([75, 59.6, 3_700, -2].map(duration)).toEqual(['1 min 15 s', '1 min 0 s', '1 h 1 min', '0 s'])
    expect(percent(0.345)).toBe('35 %')
    expect(loss(2.34567)).toBe('2.346')
    expect(whole(1234.4)).toBe('1,234')
    expect([0, 3e-3, 1.25e-3, 0.25, 12.345, 1234].map(short)).toEqual(['0', '3e-3', '1.3e-3', '0.25', '12.3', '1.2 k'])
  })
  it('show a dash for what is not a number', () => {
    const nothing = Number.NaN
    expect([compact(nothing), duration(Number.POSITIVE_INFINITY), loss(nothing), loss(undefined), percent(nothing), short(nothing), whole(nothing)]).toEqual(Array(7).fill('–'))
  })
})
