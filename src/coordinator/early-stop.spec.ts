import { expect, it } from 'vitest'
import { isPatienceOver } from './early-stop.ts'

it.each([
  [[], 1, 0, false],
  [[3, 2, 1], 1, 0, false],
  [[3, 2, 2], 1, 0, true],
  [[3, 2, 2.5, 2.2], 2, 0, true],
  [[3, 2, 2.5, 1.9], 2, 0, false],
  [[3, 2.9, 2.8], 2, 0.5, true],
  [[3, Number.NaN], 1, 0, true],
])('losses %j with patience %d and least gain %d: over is %s', (losses, patience, threshold, over) => {
  expect(
    isPatienceOver(
      losses.map((eval_loss) => ({ eval_loss })),
      { patience, threshold },
    ),
  ).toBe(over)
})
