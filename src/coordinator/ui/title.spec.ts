import { expect, it } from 'vitest'
import { pageTitle } from './title.ts'

const last = {
  step: 37,
  loss: 2.314,
  grad_norm: 1,
  learning_rate: 1,
  epoch: 1,
  num_items: 1,
  num_samples: 1,
  num_tokens: 1,
  outcome: 'committed',
  ranks: 1,
  tokens_per_second: 1,
  elapsed_ms: 1,
} as const

it('the title shows progress and loss', () => {
  expect(pageTitle('training', last, 100)).toBe('37 % · loss 2.31 · Tabring')
  expect(pageTitle('paused', last, 100)).toBe('paused · loss 2.31 · Tabring')
  expect(pageTitle('setup', undefined, 0)).toBe('Tabring')
})
