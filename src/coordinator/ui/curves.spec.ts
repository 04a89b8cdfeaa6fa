import { describe, expect, it } from 'vitest'
import type { EvaluationRecord, StepRecord } from '../../protocol/step-record.ts'
import { columns, describeCurve, lossColumns, smooth } from './curves.ts'

function record(step: number, loss: number, outcome: StepRecord['outcome'] = 'committed'): StepRecord {
  return { step, loss, grad_norm: 1, learning_rate: 0.1, epoch: 0, num_items: 1, num_samples: 1, num_tokens: 1, outcome, ranks: 1, tokens_per_second: 1, elapsed_ms: step }
}

function evaluation(step: number, eval_loss: number): EvaluationRecord {
  return { step, epoch: 1, eval_loss, eval_items: 1, eval_runtime: 1 }
}

describe('curves', () => {
  it('smooth a constant into itself from the first value on', () => {
    for (const value of smooth([3, 3, 3])) expect(value).toBeCloseTo(3, 12)
  })

  it('lie between old and new when smoothed, nearer to the old', () => {
    const long = smooth([...Array(50).fill(4), 2])
    expect(long.at(-1)).toBeCloseTo(3.8, 2)
  })

  it('leave a gap where a loss is not a number', () => {
    expect(smooth([2, Number.NaN, 2])).toEqual([2, null, 2])
    expect(columns([record(1, Number.NaN)], ({ loss }) => loss)).toEqual([[1], [null]])
  })

  it('put the validation loss at its update and the blind guess everywhere', () => {
    const [steps, , , validation, blind] = lossColumns([record(1, 4), record(2, 3)], [evaluation(2, 3.5)], 256)
    expect(steps).toEqual([1, 2])
    expect(validation).toEqual([null, 3.5])
    expect(blind).toEqual([Math.log(256), Math.log(256)])
  })

  it('show a validation loss that was measured before the first update', () => {
    const [steps, raw, smoothed, validation] = lossColumns([record(1, 4)], [evaluation(0, 4.4)], null)
    expect([steps, raw, smoothed, validation]).toEqual([
      [0, 1],
      [null, 4],
      [null, 4],
      [4.4, null],
    ])
  })

  it('leave out skipped updates, so that no two points share an update', () => {
    expect(columns([record(1, 4), record(1, 9, 'skipped-non-finite'), record(2, 3)], ({ loss }) => loss)).toEqual([
      [1, 2],
      [4, 3],
    ])
  })

  it('stay cheap with many points', () => {
    const records = Array.from({ length: 20_000 }, (_, index) => record(index + 1, 3))
    const begin = performance.now()
    lossColumns(records, [], 100)
    expect(performance.now() - begin).toBeLessThan(250)
  })

  it('are told in one sentence', () => {
    expect(describeCurve('Loss', [1, 2, 3], [4, null, 2], String)).toBe('Loss over 3 updates: from 4 to 2, lowest 2, highest 4')
    expect(describeCurve('Loss', [], [], String)).toBe('Loss: nothing yet')
  })
})
