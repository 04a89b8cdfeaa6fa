import { describe, expect, it } from 'vitest'
import { type PlannerInput, cutIntoMicroBatches, dealMicroBatches, planUpdate } from './planner.ts'

const input: PlannerInput = {
  seed: 1,
  numSamples: 37,
  globalBatchSize: 16,
  perDeviceBatchSize: 2,
  corpus: { itemsOf: () => 31, tokensOf: () => 32 },
  strategy: 'random',
  hashEvery: 2,
  shares: [],
}

describe('planUpdate', () => {
  it('[U1] takes the same samples in the same order for any number of ranks', () => {
    const flat = (worldSize: number) => planUpdate(input, 0, 5, worldSize).microBatches.flat(2)
    expect(flat(2)).toEqual(flat(1))
    expect(flat(3)).toEqual(flat(1))
    expect(flat(16)).toEqual(flat(1))
  })

  it('ends an epoch with a short window that holds the rest, and counts only its items', () => {
    const sizes = [0, 1, 2].map((update) => planUpdate(input, 0, update, 2))
    expect(sizes.map((plan) => plan.microBatches.flat(2).length)).toEqual([16, 16, 5])
    expect(sizes.map((plan) => plan.numItems)).toEqual([16 * 31, 16 * 31, 5 * 31])
    expect(new Set(sizes.flatMap((plan) => plan.microBatches.flat(2))).size).toBe(37)
  })

  it('[U2] gives a rank no micro-batch when there are fewer micro-batches than ranks', () => {
    const plan = planUpdate(input, 0, 2, 5)
    expect(plan.microBatches.map((mine) => mine.length)).toEqual([1, 1, 1, 0, 0])
  })

  it('asks for a state hash every hash_every updates', () => {
    expect([0, 1, 2, 3].map((update) => planUpdate(input, 0, update, 1).hash)).toEqual([false, true, false, true])
  })
})

describe('dealMicroBatches', () => {
  const eight = cutIntoMicroBatches(
    Array.from({ length: 8 }, (_, index) => index),
    1,
  )
  it('deals evenly, the remainder to the lowest ranks', () => {
    expect(dealMicroBatches(eight, 3, []).map((mine) => mine.length)).toEqual([3, 3, 2])
  })
  it('deals by shares', () => {
    expect(dealMicroBatches(eight, 3, [4, 3, 1]).map((mine) => mine.length)).toEqual([4, 3, 1])
    expect(dealMicroBatches(eight, 2, [1, 0]).map((mine) => mine.length)).toEqual([8, 0])
  })
  it('ignores shares made for another number of ranks', () => {
    expect(dealMicroBatches(eight, 2, [4, 3, 1]).map((mine) => mine.length)).toEqual([4, 4])
  })
})
