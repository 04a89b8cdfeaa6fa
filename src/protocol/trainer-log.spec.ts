import { describe, expect, it } from 'vitest'
import { formatGeneral } from './format-general.ts'
import type { EvaluationRecord, StepRecord } from './step-record.ts'
import { evaluationEntry, formatLogLine, logHistory, summaryEntry, TrainerLog } from './trainer-log.ts'

function update(step: number, change: Partial<StepRecord> = {}): StepRecord {
  return {
    step,
    loss: step,
    grad_norm: 0.98765,
    learning_rate: 5e-5,
    epoch: step / 10,
    num_items: 63,
    num_samples: 1,
    num_tokens: 1,
    outcome: 'committed',
    ranks: 2,
    tokens_per_second: 100,
    elapsed_ms: step * 500,
    ...change,
  }
}

describe('formatGeneral', () => {
  it.each([
    [0, '0'],
    [2.345, '2.345'],
    [5e-5, '5e-05'],
    [0.0001, '0.0001'],
    [0.00009999, '9.999e-05'],
    [0.000099999, '0.0001'],
    [0.008333333333333333, '0.008333'],
    [1e-100, '1e-100'],
    [1234.5, '1234'],
    [1235.5, '1236'],
    [-1234.5, '-1234'],
    [9999.5, '1e+04'],
    [9998.5, '9998'],
    [12345, '1.234e+04'],
    [64.022, '64.02'],
    [1, '1'],
    [100, '100'],
    [0.4, '0.4'],
    [123456789, '1.235e+08'],
    [-0.25, '-0.25'],
    [Number.NaN, 'nan'],
    [Number.NEGATIVE_INFINITY, '-inf'],
    [2 ** -1074, '4.941e-324'],
  ])('writes %d as Python writes it', (value, text) => {
    expect(formatGeneral(value)).toBe(text)
  })
})

describe('the log of the Trainer', () => {
  it('prints a dict of strings without the step', () => {
    const line = formatLogLine({ loss: 2.3449, grad_norm: 0.98765, learning_rate: 3e-4, epoch: 0.12, step: 10 })
    expect(line).toBe("{'loss': '2.345', 'grad_norm': '0.9877', 'learning_rate': '0.0003', 'epoch': '0.12'}")
  })

  it('means the losses of the updates since the last line and takes the rest from the last', () => {
    const log = new TrainerLog({ logging_steps: 2, logging_first_step: false })
    expect(log.add(update(1))).toBeNull()
    expect(log.add(update(2, { grad_norm: 7, learning_rate: 1e-3 }))).toEqual({
      loss: 1.5,
      grad_norm: 7,
      learning_rate: 1e-3,
      epoch: 0.2,
      step: 2,
    })
    expect(log.add(update(3))).toBeNull()
    expect(log.add(update(4))).toMatchObject({ loss: 3.5, step: 4 })
  })

  it('logs the first update when asked', () => {
    const log = new TrainerLog({ logging_steps: 3, logging_first_step: true })
    expect(log.add(update(1))).toMatchObject({ loss: 1 })
    expect(log.add(update(2))).toBeNull()
    expect(log.add(update(3))).toMatchObject({ loss: 2.5 })
  })

  it('[U5] counts skipped updates and leaves their loss out', () => {
    const log = new TrainerLog({ logging_steps: 2, logging_first_step: false })
    log.add(update(1))
    expect(log.add(update(1, { outcome: 'skipped-non-finite', loss: Number.NaN }))).toBeNull()
    expect(log.add(update(2))).toMatchObject({ loss: 1.5, skipped_updates: 1 })
  })

  it('puts evaluations behind their update', () => {
    const evaluation: EvaluationRecord = { step: 2, epoch: 0.2, eval_loss: 2.5, eval_items: 63, eval_runtime: 0.123456 }
    const entries = logHistory([update(1), update(2), update(3)], [evaluation], { logging_steps: 1, logging_first_step: false })
    expect(entries.map((entry) => [entry.step, Object.keys(entry)[0]])).toEqual([
      [1, 'loss'],
      [2, 'loss'],
      [2, 'eval_loss'],
      [3, 'loss'],
    ])
    expect(formatLogLine(evaluationEntry(evaluation))).toBe("{'eval_loss': '2.5', 'eval_perplexity': '12.18', 'eval_runtime': '0.1235', 'epoch': '0.2'}")
  })

  it('sums the run up', () => {
    const records = [update(1), update(2), update(3, { outcome: 'skipped-non-finite', loss: Number.NaN })]
    expect(summaryEntry(records)).toEqual({
      train_runtime: 1.5,
      train_samples_per_second: 1.333,
      train_steps_per_second: 1.333,
      train_loss: 1.5,
      epoch: 0.3,
      step: 2,
    })
    expect(formatLogLine(summaryEntry(records))).toBe(
      "{'train_runtime': '1.5', 'train_samples_per_second': '1.333', 'train_steps_per_second': '1.333', 'train_loss': '1.5', 'epoch': '0.3'}",
    )
    expect(summaryEntry([])).toMatchObject({ train_runtime: 0, train_loss: 0, step: 0 })
  })
})
