import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { normalArray, normalQuantile, philox, randomBlock, streamOf, uniform } from './random.ts'

describe('philox', () => {
  it.each([
    [[0, 0, 0, 0], [0, 0], '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    [[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff], '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    [[0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0], 'd16cfe09 94fdcceb 5001e420 24126ea1'],
  ] as const)('gives the known answer of Random123 for %j', (counter, key, words) => {
    const out = philox(new Uint32Array(4), counter, key)
    expect([...out].map((word) => word.toString(16).padStart(8, '0')).join(' ')).toBe(words)
  })

  it('uses the upper half of the counter', () => {
    const low = [...randomBlock(new Uint32Array(4), 1, { stream: 2, counter: 5 })]
    expect([...randomBlock(new Uint32Array(4), 1, { stream: 2, counter: 5 + 2 ** 32 })]).not.toEqual(low)
  })
})

describe('uniform', () => {
  it('depends on seed, stream and counter', () => {
    const values = [uniform(1, 2, 3), uniform(2, 2, 3), uniform(1, 3, 3), uniform(1, 2, 4)]
    expect(new Set(values).size).toBe(4)
    expect(uniform(1, 2, 3)).toBe(values[0])
  })

  it('fills the unit interval evenly', () => {
    const tenths = new Array<number>(10).fill(0)
    for (let counter = 0; counter < 20_000; counter++) {
      const tenth = Math.floor(uniform(7, streamOf('test'), counter) * 10)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200)
  })
})

describe('normalQuantile', () => {
  it.each([
    [0.5, 0],
    [0.975, 1.959963984540054],
    [0.9, 1.2815515655446004],
    [1e-9, -5.997807015007687],
    [1e-12, -7.034483825301131],
    [1e-300, -37.0471],
  ])('of %d is %d', (p, z) => {
    expect(Math.abs(normalQuantile(p) - z)).toBeLessThan(p === 1e-300 ? 1e-4 : 1e-12)
  })
})

describe('normalArray', () => {
  it('has the mean, deviation and tails of a normal distribution', () => {
    const values = normalArray(42, 'transformer.wte.weight', 100_000, 0.02)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
    expect(Math.abs(mean)).toBeLessThan(3e-4)
    expect(Math.sqrt(variance)).toBeCloseTo(0.02, 3)
    const beyondTwo = values.filter((value) => Math.abs(value) > 0.04).length / values.length
    expect(beyondTwo).toBeCloseTo(0.0455, 2)
  })

  it('gives an element the same value whatever the length', () => {
    expect(normalArray(1, 'a', 7, 1)).toEqual(normalArray(1, 'a', 100, 1).slice(0, 7))
    expect(normalArray(1, 'a', 7, 1)).not.toEqual(normalArray(1, 'b', 7, 1))
    expect(normalArray(1, 'a', 7, 1)).not.toEqual(normalArray(2, 'a', 7, 1))
  })

  it('gives the bits that runs of the past started from', () => {
    const bytes = new Uint8Array(normalArray(42, 'transformer.h.0.attn.c_attn.weight', 10_000, 0.02).buffer)
    expect(createHash('sha256').update(bytes).digest('hex')).toMatchInlineSnapshot(`"96147d35412883133225cc47397542603ca870bd25dcf9f2fd5f0beb1ba26732"`)
  })
})
