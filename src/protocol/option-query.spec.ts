import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { optionsFromQuery, optionsToQuery } from './option-query.ts'
import { resolveOptions } from './presets.ts'

describe('options in a URL', () => {
  it('are the preset and what differs from it', () => {
    expect(optionsToQuery(resolveOptions({ max_steps: 10, n_inner: 300 })).toString()).toBe('preset=book&max_steps=10&n_inner=300')
  })

  it('come back as they were', () => {
    const raw = fc.record(
      {
        preset: fc.constantFrom('book', 'tiny', 'gpu', 'none'),
        seed: fc.nat(),
        learning_rate: fc.double({ min: 0, max: 1, noNaN: true }),
        num_train_epochs: fc.integer({ min: 1, max: 9 }),
        max_steps: fc.integer({ min: 100, max: 900 }),
        warmup_steps: fc.integer({ min: 0, max: 20 }),
        warmup_ratio: fc.constantFrom(0, 0.05, 0.1),
        eval_strategy: fc.constantFrom('no', 'steps', 'epoch'),
        lr_scheduler_type: fc.constantFrom('cosine', 'linear'),
        sample_prompt: fc.string({ unit: 'grapheme', maxLength: 50 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(raw, (given) => {
        const options = resolveOptions(given)
        const url = new URL(`http://localhost/?${optionsToQuery(options)}`)
        expect(resolveOptions(optionsFromQuery(url.searchParams))).toEqual(options)
      }),
    )
  })

  it('leave parameters of the page alone', () => {
    expect(optionsFromQuery(new URLSearchParams('room=a-b-c&seed=1'), ['room'])).toEqual({ seed: '1' })
  })

  it('may be given once only', () => {
    expect(() => optionsFromQuery(new URLSearchParams('seed=1&seed=2'))).toThrow('Cannot set seed to ["1","2"]: need one value')
  })
})
