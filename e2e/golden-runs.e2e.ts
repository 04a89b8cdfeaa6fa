import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { readSafetensors, writeSafetensors } from '../src/checkpoint/safetensors.ts'
import { endCommands, tabring } from './support/command.ts'

/** What transformers computed from the same weights and rows, reproduced by the command line with real tabs. */
const GOLDEN = 'e2e/fixtures/golden'

interface Row {
  readonly input_ids: readonly number[]
  readonly labels: readonly number[]
}

interface Entry {
  readonly loss: number
  readonly grad_norm: number
  readonly learning_rate: number
  readonly epoch: number
  readonly step: number
}

let folder = ''

test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})

test.afterAll(() => {
  endCommands()
  rmSync(folder, { recursive: true, force: true })
})

function json<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

function writeRows(name: string, rows: readonly Row[]): string {
  const path = join(folder, name)
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

/** Trains, and gives the log that the saved trainer_state.json holds. */
async function trained(name: string, argv: readonly string[]): Promise<Entry[]> {
  const output = join(folder, name)
  const command = tabring('train', ...argv, '--output_dir', output, '--train_sampling_strategy', 'sequential', '--logging_steps', '1', '--save_strategy', 'no')
  expect(await command.exitCode, command.output()).toBe(0)
  return json<{ log_history: Entry[] }>(join(output, 'trainer_state.json')).log_history
}

function expectNear(actual: number | undefined, expected: number, tolerance: number, what: string): void {
  expect(Math.abs((actual ?? Number.NaN) - expected) / Math.max(Math.abs(expected), 1e-12), `${what}: ${actual} for ${expected}`).toBeLessThanOrEqual(tolerance)
}

/** The folder's model in two files with an index. */
function inShards(source: string): string {
  const target = join(folder, 'shards')
  mkdirSync(target)
  const tensors = [...readSafetensors(readFileSync(join(source, 'model.safetensors'))).tensors]
  const files = [tensors.slice(0, 7), tensors.slice(7)].map((part, index) => ({ name: `model-0000${index + 1}-of-00002.safetensors`, part }))
  for (const { name, part } of files) writeFileSync(join(target, name), writeSafetensors(new Map(part)))
  const weight_map = Object.fromEntries(files.flatMap(({ name, part }) => part.map(([tensor]) => [tensor, name])))
  writeFileSync(join(target, 'model.safetensors.index.json'), JSON.stringify({ metadata: { total_size: 0 }, weight_map }))
  cpSync(join(source, 'config.json'), join(target, 'config.json'))
  return target
}

const SCHEDULES = [
  { name: 'linear_wd01', argv: ['--ranks', '2', '--lr_scheduler_type', 'linear', '--weight_decay', '0.1'] },
  { name: 'cosine_wd0', argv: ['--ranks', '1', '--lr_scheduler_type', 'cosine', '--weight_decay', '0'] },
] as const

for (const family of ['gpt2', 'llama', 'gpt_neox', 'stablelm', 'qwen3']) {
  test(`${family}: the 20 updates of both golden curves, from the folder and its batches as rows`, async () => {
    const curve = json<Record<string, readonly Entry[]> & { readonly batches: readonly { input_ids: number[][]; labels: number[][] }[] }>(`${GOLDEN}/${family}/curve.json`)
    const rows = curve.batches.flatMap(({ input_ids, labels }) => input_ids.map((ids, index) => ({ input_ids: ids, labels: labels[index] ?? [] })))
    const data = writeRows(`${family}.jsonl`, rows)
    const options = [
      '--per_device_train_batch_size',
      '2',
      '--global_batch_size',
      '4',
      '--max_steps',
      '20',
      '--learning_rate',
      '2e-3',
      '--adam_beta2',
      '0.95',
      '--warmup_steps',
      '3',
      '--max_grad_norm',
      '1',
    ]
    for (const { name, argv } of SCHEDULES) {
      const log = await trained(`${family}-${name}`, ['--model', `${GOLDEN}/${family}`, '--train_file', data, ...options, ...argv])
      for (const [index, expected] of (curve[name] ?? []).entries()) {
        expectNear(log[index]?.loss, expected.loss, 1e-4, `${name}, loss of update ${index + 1}`)
        expectNear(log[index]?.grad_norm, expected.grad_norm, 1e-4, `${name}, norm of update ${index + 1}`)
        expectNear(log[index]?.learning_rate, expected.learning_rate, 1e-9, `${name}, rate of update ${index + 1}`)
      }
      expect(log.at(19)?.epoch).toBe(4)
    }
  })
}

for (const ranks of [1, 2, 3, 4]) {
  test(`the Trainer's log on ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}: no sample repeated, short windows stepped`, async () => {
    const rows = json<{ samples: readonly Row[] }>(`${GOLDEN}/trainer/data.json`).samples
    const expected = readFileSync(`${GOLDEN}/trainer/log.jsonl`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry & { readonly train_loss?: number })
    const options = ['--optim', 'sgd', '--learning_rate', '0.01', '--per_device_train_batch_size', '1', '--global_batch_size', '4', '--num_train_epochs', '2']
    const log: readonly (Entry & { readonly train_loss?: number })[] = await trained(`trainer-${ranks}`, [
      '--model',
      `${GOLDEN}/trainer/model`,
      '--train_file',
      writeRows('trainer.jsonl', rows),
      '--ranks',
      String(ranks),
      ...options,
    ])
    expect(log.length).toBe(expected.length)
    for (const [index, { step, epoch, ...numbers }] of expected.entries()) {
      expect([log[index]?.step, log[index]?.epoch]).toEqual([step, epoch])
      for (const key of ['loss', 'grad_norm', 'learning_rate', 'train_loss'] as const) {
        if (numbers[key] !== undefined) expectNear(log[index]?.[key], numbers[key], 1e-5, `${key} of line ${index + 1}`)
      }
    }
  })
}

test('eval: loss and items of a golden batch on two ranks, and their perplexity, from a model in shards', async () => {
  const batch = json<{ readonly input_ids: number[][]; readonly labels: number[][]; readonly loss: number; readonly num_items: number }>(`${GOLDEN}/stablelm/batch.json`)
  const data = writeRows(
    'batch.jsonl',
    batch.input_ids.map((input_ids, index) => ({ input_ids, labels: batch.labels[index] ?? [] })),
  )
  const command = tabring('eval', '--model', inShards(`${GOLDEN}/stablelm`), '--eval_file', data, '--ranks', '2')
  expect(await command.exitCode, command.output()).toBe(0)
  const [, loss, items, perplexity] = /^loss (\S+) \(nats per token\), (\d+) items, perplexity (\S+)$/m.exec(command.output()) ?? []
  expectNear(Number(loss), batch.loss, 1e-5, 'loss')
  expectNear(Number(perplexity), Math.exp(batch.loss), 1e-4, 'perplexity')
  expect(Number(items)).toBe(batch.num_items)
})
