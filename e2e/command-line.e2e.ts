import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@playwright/test'
import { readModelFolder } from '../src/checkpoint/hf-folder.ts'
import { type Command, endCommands, tabring } from './support/command.ts'

let folder = ''

test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})

test.afterAll(() => {
  endCommands()
  rmSync(folder, { recursive: true, force: true })
})

function lastLine({ output }: Command): string {
  return output().trimEnd().split('\n').at(-1) ?? ''
}

/** Its children: the browser's first process. */
function browserOf({ child }: Command): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => existsSync(`/proc/${pid}/stat`) && readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(child.pid))
    .map(Number)
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
}

const ENDLESS = ['train', '--preset', 'tiny', '--ranks', '2', '--max_steps', '100000', '--eval_strategy', 'no', '--sample_every', '0', '--logging_steps', '1']

test('train: two ranks, log lines, a model folder, exit code 0, and nothing left running', async () => {
  const model = join(folder, 'model')
  const command = tabring(
    'train',
    '--preset',
    'tiny',
    '--ranks',
    '2',
    '--max_steps',
    '6',
    '--eval_steps',
    '3',
    '--sample_every',
    '6',
    '--logging_steps',
    '2',
    '--output_dir',
    model,
  )
  await expect.poll(() => command.output(), { timeout: 100_000 }).toContain('on 2 ranks for 6 updates')
  const browser = browserOf(command)
  expect(browser.length).toBeGreaterThan(0)
  expect(await command.exitCode).toBe(0)
  await expectGone(browser)
  const lines = command.output().trimEnd().split('\n')
  expect(lines.filter((line) => /^\{'loss': '[\d.]+', 'grad_norm': '[\d.]+', 'learning_rate': '[\d.e-]+', 'epoch': '[\d.e-]+'\}$/.test(line))).toHaveLength(3)
  expect(lines.filter((line) => line.startsWith("{'eval_loss': "))).toHaveLength(2)
  expect(lines.filter((line) => line.startsWith('After update 6: '))).toHaveLength(1)
  expect(lines.at(-2)).toMatch(/^\{'train_runtime': /)
  expect(lines.at(-1)).toBe(`The model is in ${model}`)
  const files = readdirSync(model).map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(model, name))) }))
  expect(readModelFolder(files).tensors.get('transformer.wte.weight')?.shape).toEqual([readModelFolder(files).config['vocab_size'], 32])
})

test('train: 9 updates and 3 after a checkpoint give the bits and the log of 12 in one run', async () => {
  const [straight, resumed] = [join(folder, 'straight'), join(folder, 'resumed')]
  const options = ['--preset', 'tiny', '--max_steps', '12', '--save_steps', '3', '--save_total_limit', '2', '--logging_steps', '2', '--eval_steps', '6', '--sample_every', '0']
  const first = tabring('train', ...options, '--ranks', '2', '--output_dir', straight)
  expect(await first.exitCode).toBe(0)
  const folders = (path: string) =>
    readdirSync(path)
      .filter((name) => name.includes('checkpoint'))
      .sort()
  expect(folders(straight)).toEqual(['checkpoint-12', 'checkpoint-9'])
  cpSync(join(straight, 'checkpoint-9'), join(resumed, 'checkpoint-9'), { recursive: true })
  const second = tabring('train', '--resume_from_checkpoint', '--output_dir', resumed, '--ranks', '2')
  expect(await second.exitCode).toBe(0)
  expect(second.output()).toContain('on 2 ranks for 12 updates, from update 10 on')
  expect(folders(resumed)).toEqual(['checkpoint-12', 'checkpoint-9'])
  const read = (...path: string[]) => readFileSync(join(...path))
  for (const name of ['model.safetensors', 'optimizer.safetensors', 'tokenizer.json'])
    expect(read(resumed, 'checkpoint-12', name).equals(read(straight, 'checkpoint-12', name)), name).toBe(true)
  expect(read(resumed, 'model.safetensors').equals(read(straight, 'checkpoint-12', 'model.safetensors'))).toBe(true)
  const lossLines = (command: Command) =>
    command
      .output()
      .split('\n')
      .filter((line) => line.startsWith("{'loss'"))
  expect(lossLines(second)).toEqual(lossLines(first).slice(4))
  const summary = (command: Command) => /'train_loss': '[\d.]+'/.exec(command.output())?.[0]
  expect(summary(second)).toBe(summary(first))
})

test('train: a resume that contradicts the checkpoint is refused with both values', async () => {
  const saved = join(folder, 'saved')
  const first = tabring(
    'train',
    '--preset',
    'tiny',
    '--max_steps',
    '1',
    '--save_strategy',
    'steps',
    '--eval_strategy',
    'no',
    '--sample_every',
    '0',
    '--ranks',
    '1',
    '--output_dir',
    saved,
  )
  expect(await first.exitCode).toBe(0)
  const resume = ['train', '--resume_from_checkpoint', join(saved, 'checkpoint-1'), '--max_steps', '2', '--ranks', '1', '--output_dir', join(folder, 'none')]
  const wider = tabring(...resume, '--n_embd', '64')
  expect(await wider.exitCode).toBe(2)
  expect(lastLine(wider)).toBe('Cannot set n_embd to 64: need 32, with which checkpoint-1 was trained')
  const text = join(folder, 'other.txt')
  writeFileSync(text, 'another text than the book, '.repeat(200))
  const other = tabring(...resume, '--train_file', text)
  expect(await other.exitCode).toBe(1)
  expect(lastLine(other)).toMatch(/^Cannot resume: the data gives tokens with SHA-256 [0-9a-f]{64}, the checkpoint was trained on [0-9a-f]{64}, need the same data$/)
  expect(existsSync(join(folder, 'none'))).toBe(false)
})

test('train: starts from the weights of a Hugging Face folder, and refuses one that is broken', async () => {
  const golden = 'e2e/fixtures/golden/gpt2'
  const text = join(folder, 'letters.txt')
  writeFileSync(text, 'the quick brown fox jumps over the lazy dog. '.repeat(200))
  const options = [
    '--preset',
    'tiny',
    '--tokenizer',
    'char',
    '--block_size',
    '32',
    '--train_file',
    text,
    '--max_steps',
    '2',
    '--eval_strategy',
    'no',
    '--sample_every',
    '0',
    '--ranks',
    '2',
    '--logging_steps',
    '1',
  ]
  const tuned = join(folder, 'tuned')
  const still = tabring('train', '--model', golden, ...options, '--learning_rate', '0', '--output_dir', tuned)
  expect(await still.exitCode).toBe(0)
  const tensors = (path: string) => readModelFolder(['config.json', 'model.safetensors'].map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(path, name))) }))).tensors
  expect(tensors(tuned)).toEqual(tensors(golden))
  const wrong = tabring('train', '--model', golden, ...options, '--n_layer', '3', '--output_dir', join(folder, 'none'))
  expect(await wrong.exitCode).toBe(2)
  expect(lastLine(wrong)).toBe(`Cannot set n_layer to "3": need 2, as in config.json of ${golden}`)
  const broken = join(folder, 'broken')
  cpSync(golden, broken, { recursive: true })
  const weights = readFileSync(join(broken, 'model.safetensors'))
  weights.writeUInt32LE(0x7fc00000, weights.length - 4)
  writeFileSync(join(broken, 'model.safetensors'), weights)
  const refused = tabring('train', '--model', broken, ...options, '--output_dir', join(folder, 'none'))
  expect(await refused.exitCode).toBe(1)
  expect(lastLine(refused)).toMatch(/ failed: Cannot load tensor transformer\.[\w.]+: number \d+ of \d+ is NaN, need finite numbers$/)
  expect(existsSync(join(folder, 'none'))).toBe(false)
})

test('train: Ctrl-C finishes the planned updates and saves what was learned', async () => {
  const model = join(folder, 'stopped')
  const command = tabring(...ENDLESS, '--output_dir', model)
  await expect.poll(() => command.output(), { timeout: 100_000 }).toContain("{'loss'")
  command.child.kill('SIGINT')
  expect(await command.exitCode).toBe(0)
  const state = JSON.parse(readFileSync(join(model, 'trainer_state.json'), 'utf8'))
  expect(state.global_step).toBeGreaterThan(0)
  expect(readdirSync(model)).toContain('model.safetensors')
})

test('train: Ctrl-C twice ends at once, with the browser', async () => {
  const model = join(folder, 'quit')
  const command = tabring(...ENDLESS, '--output_dir', model)
  await expect.poll(() => command.output(), { timeout: 100_000 }).toContain("{'loss'")
  const browser = browserOf(command)
  command.child.kill('SIGINT')
  await expect.poll(() => command.output(), { intervals: [5] }).toContain('Stopping')
  command.child.kill('SIGINT')
  expect(await command.exitCode).toBe(130)
  await expectGone(browser)
  expect(existsSync(model)).toBe(false)
})

test('train: a browser that dies is a sentence and exit code 1', async () => {
  const command = tabring(...ENDLESS, '--output_dir', join(folder, 'dead'))
  await expect.poll(() => command.output(), { timeout: 100_000 }).toContain("{'loss'")
  for (const pid of browserOf(command)) process.kill(pid, 'SIGKILL')
  expect(await command.exitCode).toBe(1)
  expect(command.output()).toContain('The browser was closed or has crashed')
})

test('train: a text that cannot be trained on is named, with exit code 1 and no folder', async () => {
  const model = join(folder, 'none')
  const text = join(folder, 'short.txt')
  writeFileSync(text, 'a few words only')
  const command = tabring('train', '--preset', 'tiny', '--ranks', '1', '--train_file', text, '--output_dir', model)
  expect(await command.exitCode).toBe(1)
  expect(lastLine(command)).toMatch(/^Cannot use short\.txt: .*need at least \d+$/)
  expect(existsSync(model)).toBe(false)
})

test('train: an impossible option ends with exit code 2 before anything starts', async () => {
  const kept = join(folder, 'kept')
  mkdirSync(kept)
  writeFileSync(join(kept, 'notes.txt'), 'mine')
  const refused = tabring('train', '--output_dir', kept)
  expect(await refused.exitCode).toBe(2)
  expect(lastLine(refused)).toBe(`Cannot set output_dir to "${kept}": need an empty or new folder, or --overwrite_output_dir`)
  const unknown = tabring('train', '--learning_rat', '3')
  expect(await unknown.exitCode).toBe(2)
  expect(lastLine(unknown)).toBe('Cannot set learning_rat to "3": there is no such option, need learning_rate, the nearest name')
})

test('serve: prints its address and a code for phones, answers there, and Ctrl-C ends it', async () => {
  const command = tabring('serve', '--port', '0')
  await expect.poll(() => command.output(), { timeout: 30_000 }).toContain('Ctrl-C ends it')
  const url = /http:\/\/localhost:\d+/.exec(command.output())?.[0] ?? ''
  expect(command.output()).toMatch(/[▀▄█]{3}/)
  expect(await (await fetch(url)).text()).toContain('<title>Tabring')
  const taken = tabring('serve', '--port', new URL(url).port)
  expect(await taken.exitCode).toBe(1)
  expect(taken.output()).toContain(`Cannot listen on port ${new URL(url).port}: another program listens there`)
  command.child.kill('SIGINT')
  expect(await command.exitCode).toBe(0)
})
