import { expect, it } from 'vitest'
import type { StepRecord } from '../protocol/step-record.ts'
import { clock, progressLine } from './progress.ts'

const record = (step: number): StepRecord => ({
  step,
  loss: 2.5,
  grad_norm: 1,
  learning_rate: 1,
  epoch: 1,
  num_items: 1,
  outcome: 'committed',
  ranks: 1,
  tokens_per_second: 1234.5,
  elapsed_ms: step * 1000,
})

it('the progress line tells step, loss, speed and the time left', () => {
  expect(progressLine([], 100)).toBe(`${'░'.repeat(24)} 0/100`)
  const half = Array.from({ length: 50 }, (_, index) => record(index + 1))
  expect(progressLine(half, 100)).toBe(`${'█'.repeat(12)}${'░'.repeat(12)} 50/100  loss 2.500  1235 tokens/s  ETA 0:50`)
  expect(clock(75.4)).toBe('1:15')
})
