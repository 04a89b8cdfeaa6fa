import { describe, expect, it } from 'vitest'
import type { StepRecord } from '../../protocol/step-record.ts'
import { guesses, secondsLeft } from './pace.ts'

const record = (step: number, elapsed_ms: number): StepRecord => ({
  step,
  loss: 1,
  grad_norm: 1,
  learning_rate: 1,
  epoch: 0,
  num_items: 1,
  num_samples: 1,
  num_tokens: 1,
  outcome: 'committed',
  ranks: 1,
  tokens_per_second: 1,
  elapsed_ms,
})

describe('the time left', () => {
  it('follows the last updates, not the slow first ones', () => {
    const slow = [record(1, 60_000)]
    const fast = Array.from({ length: 30 }, (_, index) => record(index + 2, 60_000 + (index + 1) * 500))
    expect(secondsLeft([...slow, ...fast], 41)).toBeCloseTo(5, 10)
  })
  it('is known after one update, and nothing before', () => {
    expect(secondsLeft([record(1, 2_000)], 11)).toBe(20)
    expect(secondsLeft([], 10)).toBeNaN()
  })
  it('is not negative when a run goes on past its plan', () => {
    expect(secondsLeft([record(1, 100), record(2, 200)], 1)).toBe(0)
  })
})

it('a loss reads as the number of equally likely guesses', () => {
  expect([0, Math.log(2.5), Math.log(83), Math.log(50_257), 800].map(guesses)).toEqual(['1', '2.5', '83', '50,257', 'very many'])
})
