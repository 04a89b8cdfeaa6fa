import { expect, it } from 'vitest'
import type { StepRecord } from '../protocol/step-record.ts'
import { StatusLine, clock, progressLine } from './progress.ts'

const record = (step: number): StepRecord => ({
  step,
  loss: 2.5,
  grad_norm: 1,
  learning_rate: 1,
  epoch: 1,
  num_items: 1,
  num_samples: 1,
  num_tokens: 1,
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
  expect(clock(3675)).toBe('1:01:15')
})

it('a skipped update neither moves the bar nor hides the last loss', () => {
  const skipped: StepRecord = { ...record(2), loss: Number.NaN, outcome: 'skipped-no-items' }
  expect(progressLine([record(1), record(2), skipped], 4)).toBe(progressLine([record(1), record(2)], 4))
})

it('a terminal keeps the progress line below what is printed', () => {
  const { line, written } = statusLine({ isTTY: true, columns: 30 })
  line.show('x'.repeat(40))
  line.print('loss', { dim: true })
  line.clear()
  line.print('end')
  const short = 'x'.repeat(29)
  expect(written).toEqual([`\r\x1b[2K${short}`, `\r\x1b[2K\x1b[2mloss\x1b[0m\n${short}`, '\r\x1b[2K', 'end\n'])
})

it('without a terminal there are lines only, and no colours', () => {
  const { line, written } = statusLine({})
  line.show('progress')
  line.print('loss', { dim: true })
  line.clear()
  expect(written).toEqual(['loss\n'])
})

function statusLine(terminal: { readonly isTTY?: boolean; readonly columns?: number }) {
  const written: string[] = []
  return { line: new StatusLine({ ...terminal, write: (text) => written.push(text) }), written }
}
