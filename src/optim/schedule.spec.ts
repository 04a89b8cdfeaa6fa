import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { learningRate, type ScheduleKind, warmupSteps } from './schedule.ts'

function rates(kind: ScheduleKind, peak: number, warmup: number, totalSteps: number): number[] {
  return Array.from({ length: totalSteps }, (_, committed) => learningRate({ kind, peak, warmupSteps: warmup, totalSteps }, committed))
}

test('linear over six updates gives the rates of the Trainer', () => {
  const expected = [0.01, 0.008333, 0.006667, 0.005, 0.003333, 0.001667]
  expect(rates('linear', 0.01, 0, 6).map((rate) => Number(rate.toFixed(6)))).toEqual(expected)
})

test('the rates are those of the golden curves under both schedules', () => {
  const curve = JSON.parse(readFileSync('e2e/fixtures/golden/gpt2/curve.json', 'utf8'))
  for (const [kind, name] of [
    ['linear', 'linear_wd01'],
    ['cosine', 'cosine_wd0'],
  ] as const) {
    const ours = rates(kind, 2e-3, 3, 20)
    for (const [index, row] of curve[name].entries()) expect(ours[index]).toBeCloseTo(row.learning_rate, 12)
  }
})

test('constant never changes and constant_with_warmup rises in equal steps to the peak', () => {
  expect(rates('constant', 2, 3, 4)).toEqual([2, 2, 2, 2])
  expect(rates('constant_with_warmup', 2, 4, 6)).toEqual([0, 0.5, 1, 1.5, 2, 2])
})

test('no schedule goes below zero after its last update', () => {
  for (const kind of ['linear', 'cosine'] as const) expect(learningRate({ kind, peak: 1, warmupSteps: 1, totalSteps: 4 }, 9)).toBeGreaterThanOrEqual(0)
  expect(learningRate({ kind: 'linear', peak: 1, warmupSteps: 1, totalSteps: 4 }, 9)).toBe(0)
})

test('warm-up steps win over the ratio, which rounds up', () => {
  expect(warmupSteps({ warmup_steps: 7, warmup_ratio: 0.5 }, 100)).toBe(7)
  expect(warmupSteps({ warmup_steps: 0, warmup_ratio: 0.03 }, 101)).toBe(4)
  expect(warmupSteps({ warmup_steps: 0, warmup_ratio: 0 }, 101)).toBe(0)
  expect(warmupSteps({ warmup_steps: 0.03, warmup_ratio: 0.5 }, 101)).toBe(4)
  expect(warmupSteps({ warmup_steps: 1, warmup_ratio: 0.5 }, 101)).toBe(1)
})
