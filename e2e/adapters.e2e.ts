import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { parseAdapterConfig } from '../src/checkpoint/adapter-config.ts'
import { readAdapter } from '../src/checkpoint/adapter-weights.ts'
import { readWeights } from '../src/checkpoint/weights.ts'
import { endCommands, tabring } from './support/command.ts'

const MODEL = 'e2e/fixtures/golden/trainer/model'

let folder = ''

test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})

test.afterAll(() => {
  endCommands()
  rmSync(folder, { recursive: true, force: true })
})

async function run(...argv: readonly string[]): Promise<string> {
  const command = tabring(...argv)
  expect(await command.exitCode, command.output()).toBe(0)
  return command.output()
}

async function evaluated(...argv: readonly string[]): Promise<{ readonly loss: number; readonly items: number }> {
  const output = await run('eval', ...argv)
  const [, loss, items] = /^loss (\S+) \(nats per token\), (\d+) items/m.exec(output) ?? []
  return { loss: Number(loss), items: Number(items) }
}

function expectSameFile(name: string, a: string, b: string): void {
  expect(readFileSync(join(a, name)).equals(readFileSync(join(b, name))), name).toBe(true)
}

function writeRows(name: string): string {
  const { samples }: { readonly samples: readonly unknown[] } = JSON.parse(readFileSync('e2e/fixtures/golden/trainer/data.json', 'utf8'))
  const path = join(folder, name)
  writeFileSync(path, samples.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return path
}

/** Names of the tensors of two folders' models that differ in a bit. */
function changedTensors(a: string, b: string): string[] {
  const [before, after] = [a, b].map((path) => readWeights(readFileSync(join(path, 'model.safetensors'))))
  return [...(before ?? [])].flatMap(([name, { values }]) => {
    const other = after?.get(name)?.values ?? new Float32Array()
    return Buffer.from(values.buffer).equals(Buffer.from(other.buffer)) ? [] : [name]
  })
}

test('an adapter is trained on two ranks, resumed to the same bits, read back, merged, and both ways give one loss', async () => {
  const data = writeRows('rows.jsonl')
  const [adapter, resumed, merged] = ['adapter', 'resumed', 'merged'].map((name) => join(folder, name)) as [string, string, string]
  const batch = ['--per_device_train_batch_size', '1', '--global_batch_size', '4', '--max_steps', '6', '--save_steps', '3', '--logging_steps', '1', '--learning_rate', '0.02']
  const lora = ['--use_peft', '--lora_r', '4', '--lora_alpha', '8', '--lora_dropout', '0.1', '--use_rslora', '--lora_target_modules', 'q_proj,down_proj']
  const printed = await run('train', '--model', MODEL, '--train_file', data, '--ranks', '2', ...batch, ...lora, '--output_dir', adapter)
  expect(printed).toContain('Training adapters beside 20,672 parameters')

  const config = parseAdapterConfig(JSON.parse(readFileSync(join(adapter, 'adapter_config.json'), 'utf8')))
  const targets = ['q_proj', 'down_proj']
  expect(config).toEqual({ rank: 4, alpha: 8, dropout: 0.1, rankStabilised: true, targets, baseModel: MODEL })
  expect(readAdapter(readFileSync(join(adapter, 'adapter_model.safetensors')), config).length).toBe(4)

  await run('train', '--resume_from_checkpoint', join(adapter, 'checkpoint-3'), '--train_file', data, '--ranks', '2', '--output_dir', resumed)
  expectSameFile('adapter_model.safetensors', adapter, resumed)
  expectSameFile('optimizer.safetensors', join(adapter, 'checkpoint-6'), join(resumed, 'checkpoint-6'))

  await run('merge', '--adapter', adapter, '--output_dir', merged)
  const both = await evaluated('--model', MODEL, '--adapter', adapter, '--eval_file', data)
  const one = await evaluated('--model', merged, '--eval_file', data)
  expect(one.items).toBe(both.items)
  expect(Math.abs(one.loss / both.loss - 1)).toBeLessThan(1e-5)
  expect(changedTensors(MODEL, merged).length).toBe(4)
})

test('frozen parameters come back bit for bit', async () => {
  const data = writeRows('frozen.jsonl')
  const output = join(folder, 'frozen')
  const options = ['--max_steps', '2', '--learning_rate', '0.01', '--save_strategy', 'no', '--output_dir', output]
  await run('train', '--model', MODEL, '--train_file', data, '--ranks', '2', ...options, '--freeze', 'model.embed_tokens, *.layers.0, *norm')
  const changed = changedTensors(MODEL, output)
  expect(changed.length).toBe(7)
  expect(changed.filter((name) => !/^model\.layers\.1\.(mlp|self_attn)\.\w+_proj\.weight$/.test(name))).toEqual([])
})
