import { describe, expect, it } from 'vitest'
import type { StepRecord } from '../../protocol/step-record.ts'
import { columns, lossColumns, smooth } from './curves.ts'

const record = (step: number, loss: number): StepRecord => ({
  step,
  loss,
  grad_norm: 1,
  learning_rate: 0.1,
  epoch: 0,
  num_items: 1,
  outcome: 'committed',
  ranks: 1,
  tokens_per_second: 1,
  elapsed_ms: step,
})

describe('curves', () => {
  it('smooth a constant into itself from the first value on', () => {
    for (const value of smooth([3, 3, 3])) expect(value).toBeCloseTo(3, 12)
  })
  it('leave a gap where a loss is not a number', () => {
    expect(smooth([2, Number.NaN, 2])).toEqual([2, null, 2])
    expect(columns([record(1, Number.NaN)], ({ loss }) => loss)).toEqual([[1], [null]])
  })
  it('put the validation loss at its update and the blind guess everywhere', () => {
    const [steps, , , validation, blind] = lossColumns([record(1, 4), record(2, 3)], [{ step: 2, epoch: 1, eval_loss: 3.5, eval_items: 1, eval_runtime: 1 }], 256)
    expect(steps).toEqual([1, 2])
    expect(validation).toEqual([null, 3.5])
    expect(blind).toEqual([Math.log(256), Math.log(256)])
  })
})
