import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { evaluationInterval, globalBatchSize, samplesOfUpdate, shuffledIndex, totalUpdates, updatesPerEpoch } from './sample-order.ts'

function epochOf(numSamples: number, batch: number, seed: number, epoch: number): number[][] {
  const perEpoch = updatesPerEpoch(numSamples, batch)
  return Array.from(
    { length: perEpoch },
    (_, window) => samplesOfUpdate({ seed, update: epoch * perEpoch + window, numSamples, globalBatchSize: batch, strategy: 'random' }).indices,
  )
}

describe('samplesOfUpdate', () => {
  it('[U1] every epoch is a permutation of the samples, its last window short', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 700 }), fc.integer({ min: 1, max: 40 }), fc.nat(), fc.integer({ min: 0, max: 50 }), (numSamples, batch, seed, epoch) => {
        const windows = epochOf(numSamples, batch, seed, epoch)
        expect(windows.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: numSamples }, (_, index) => index))
        for (const window of windows.slice(0, -1)) expect(window).toHaveLength(batch)
      }),
      { numRuns: 60 },
    )
  })

  it('[U1] depends on seed and update alone', () => {
    const window = { seed: 42, update: 17, numSamples: 1_000, globalBatchSize: 8, strategy: 'random' } as const
    expect(samplesOfUpdate(window)).toEqual(samplesOfUpdate({ ...window }))
    expect(samplesOfUpdate({ ...window, seed: 43 }).indices).not.toEqual(samplesOfUpdate(window).indices)
    expect(samplesOfUpdate({ ...window, update: 18 }).indices).not.toEqual(samplesOfUpdate(window).indices)
  })

  it('[U1] a larger batch takes the same order in larger bites', () => {
    expect(epochOf(100, 8, 5, 2).flat()).toEqual(epochOf(100, 24, 5, 2).flat())
  })

  it('shuffles each epoch anew', () => {
    expect(epochOf(100, 100, 5, 0)).not.toEqual(epochOf(100, 100, 5, 1))
  })

  it('keeps the order when it is sequential, and ends an epoch as the Trainer does', () => {
    const windows = [0, 1, 2, 3].map((update) => samplesOfUpdate({ seed: 1, update, numSamples: 10, globalBatchSize: 4, strategy: 'sequential' }))
    expect(windows).toEqual([
      { indices: [0, 1, 2, 3], epochAfter: 0.4 },
      { indices: [4, 5, 6, 7], epochAfter: 0.8 },
      { indices: [8, 9], epochAfter: 1 },
      { indices: [0, 1, 2, 3], epochAfter: 1.4 },
    ])
  })
})

describe('shuffledIndex', () => {
  it('puts each element at each place about equally often', () => {
    for (const length of [3, 4, 10]) {
      const counts = Array.from({ length }, () => new Array<number>(length).fill(0))
      const epochs = 4_000
      for (let epoch = 0; epoch < epochs; epoch++) {
        for (let position = 0; position < length; position++) {
          const row = counts[position]
          const index = shuffledIndex(position, length, { seed: 9, epoch })
          if (row) row[index] = (row[index] ?? 0) + 1
        }
      }
      for (const count of counts.flat()) expect(Math.abs(count / epochs - 1 / length)).toBeLessThan(0.03)
    }
  })

  it('finds one sample among millions at once', () => {
    const started = performance.now()
    expect(shuffledIndex(123_456_789, 900_000_000, { seed: 1, epoch: 3 })).toBeLessThan(900_000_000)
    expect(performance.now() - started).toBeLessThan(50)
  })
})

describe('the length of a run', () => {
  it('counts the short window of each epoch', () => {
    expect(updatesPerEpoch(10, 4)).toBe(3)
    expect(totalUpdates({ max_steps: -1, num_train_epochs: 2 }, 3)).toBe(6)
    expect(totalUpdates({ max_steps: -1, num_train_epochs: 0.5 }, 3)).toBe(2)
    expect(totalUpdates({ max_steps: 5, num_train_epochs: 2 }, 3)).toBe(5)
  })

  it('says what it needs when there is no sample', () => {
    expect(() => updatesPerEpoch(0, 4)).toThrow('Cannot plan updates of 4 from 0 samples: need at least 1 of each')
  })

  it('takes the global batch of the options, or that of the ranks', () => {
    const options = { global_batch_size: null, per_device_train_batch_size: 8, gradient_accumulation_steps: 2 }
    expect(globalBatchSize(options, 3)).toBe(48)
    expect(globalBatchSize({ ...options, global_batch_size: 64 }, 3)).toBe(64)
  })

  it('evaluates as often as the strategy says', () => {
    const options = { eval_steps: null, logging_steps: 7 }
    expect(evaluationInterval({ ...options, eval_strategy: 'no' }, 3)).toBe(0)
    expect(evaluationInterval({ ...options, eval_strategy: 'steps' }, 3)).toBe(7)
    expect(evaluationInterval({ ...options, eval_strategy: 'steps', eval_steps: 2 }, 3)).toBe(2)
    expect(evaluationInterval({ ...options, eval_strategy: 'epoch' }, 3)).toBe(3)
  })
})
