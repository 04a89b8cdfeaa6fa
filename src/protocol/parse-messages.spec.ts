import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseFromRank, parseToRank } from './parse-messages.ts'

const plan = { generation: 1, update: 2, microBatches: [[[1, 2]], []], numItems: 62, numTokens: 64, epoch: 0.5, hash: false }

describe('[J6] control messages', () => {
  it('keep a well-formed message as it is', () => {
    expect(parseToRank({ type: 'plan', plan })).toEqual({ type: 'plan', plan })
    expect(parseFromRank({ type: 'leaving' })).toEqual({ type: 'leaving' })
  })

  it('drop unknown types, missing fields, negative and fractional counts', () => {
    expect(parseToRank({ type: 'reboot' })).toBeNull()
    expect(parseToRank({ type: 'plan', plan: { ...plan, generation: undefined } })).toBeNull()
    expect(parseToRank({ type: 'plan', plan: { ...plan, update: -1 } })).toBeNull()
    expect(parseToRank({ type: 'plan', plan: { ...plan, microBatches: [[[0.5]]] } })).toBeNull()
    expect(parseFromRank({ type: 'prepared', run: 'x'.repeat(5_000) })).toBeNull()
  })

  it('read a non-finite loss, which JSON turns into null, as NaN', () => {
    const parsed = parseFromRank(JSON.parse(JSON.stringify({ type: 'evaluated', id: 1, lossSum: Number.NaN, items: 3 })))
    expect(parsed).toEqual({ type: 'evaluated', id: 1, lossSum: Number.NaN, items: 3 })
  })

  it('never throw, whatever arrives', () => {
    fc.assert(
      fc.property(fc.anything(), (anything) => {
        parseToRank(anything)
        parseFromRank(anything)
      }),
      { numRuns: 2_000 },
    )
  })
})
