import { expect, it } from 'vitest'
import type { StepRecord } from '../protocol/step-record.ts'
import { TrainingReport } from './training-report.ts'

const STARTED = { type: 'started', maxSteps: 4, parameters: 29_184, vocabSize: 84, ranks: 2 } as const

function report() {
  const lines: string[] = []
  return { lines, report: new TrainingReport({ out: { write: (text) => lines.push(text.trimEnd()) } }) }
}

function record(step: number, loss: number): StepRecord {
  return {
    step,
    loss,
    grad_norm: 1,
    learning_rate: 0.1,
    epoch: step,
    num_items: 31,
    num_samples: 1,
    num_tokens: 1,
    outcome: 'committed',
    ranks: 2,
    tokens_per_second: 10,
    elapsed_ms: step * 1000,
  }
}

it('log lines, evaluations, samples and warnings become lines; what merely happens does not', () => {
  const { report: run, lines } = report()
  run.hear(STARTED)
  run.hear({ type: 'event', level: 'info', text: 'A ring of 2 forms' })
  run.hear({ type: 'event', level: 'warning', text: 'Rank 2 left' })
  run.hear({ type: 'log', entry: { loss: 2.5, epoch: 0.5, step: 1 } })
  run.hear({ type: 'evaluation', evaluation: { step: 1, epoch: 0.5, eval_loss: 3, eval_items: 4, eval_runtime: 0.5 } })
  run.hear({ type: 'sample', sample: { step: 1, prompt: 'Call ', text: 'me\nback' } })
  expect(lines).toEqual([
    'Training 29,184 parameters over a vocabulary of 84 on 2 ranks for 4 updates',
    'Rank 2 left',
    "{'loss': '2.5', 'epoch': '0.5'}",
    "{'eval_loss': '3', 'eval_perplexity': '20.09', 'eval_runtime': '0.5', 'epoch': '0.5'}",
    'After update 1: "Call me\\nback"',
  ])
})

it('an update that is computed again after a rank left counts once in the summary', () => {
  const { report: run, lines } = report()
  run.hear(STARTED)
  for (const [step, loss] of [
    [1, 4],
    [2, 100],
    [3, 100],
    [2, 3],
    [3, 2],
  ] as const)
    run.hear({ type: 'record', record: record(step, loss) })
  run.end('/models/mine')
  expect(lines.slice(1)).toEqual([expect.stringContaining("'train_steps_per_second': '1', 'train_loss': '3'"), 'The model is in /models/mine'])
})

it('a failed run rejects with its sentence', async () => {
  const { report: run } = report()
  run.hear(STARTED)
  run.hear({ type: 'status', phase: 'failed', status: 'Rank 2 failed: out of memory' })
  await expect(run.finished).rejects.toThrow('Rank 2 failed: out of memory')
})

it('before the start an error ends the run, also a page that does not open and a rank that crashes', async () => {
  const bad = report().report
  bad.hear({ type: 'event', level: 'error', text: 'Cannot use a.txt: it is empty' })
  await expect(bad.started).rejects.toThrow('a.txt')
  const closed = report().report
  closed.coordinatorError('no broker')
  await expect(closed.invited).rejects.toThrow('The coordinator page did not open: no broker')
  const crashed = report().report
  crashed.rankCrashed(2)
  await expect(crashed.started).rejects.toThrow('rank 2 has crashed')
})

it('after the start a rank that crashes is a line, and the run goes on', async () => {
  const { report: run, lines } = report()
  run.hear(STARTED)
  run.rankCrashed(2)
  run.hear({ type: 'status', phase: 'finished', status: 'Finished' })
  await run.finished
  expect(lines[1]).toContain('rank 2 has crashed')
})
