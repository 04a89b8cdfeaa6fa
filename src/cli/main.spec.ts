import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { optionFields } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { main } from './main.ts'
import { writeTestCheckpoint } from './testing/test-checkpoint.ts'

const folder = mkdtempSync(join(tmpdir(), 'tabring-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

/** What a command line that ends before anything is started prints, and its exit code. */
async function refused(...argv: readonly string[]): Promise<readonly [number | undefined, string]> {
  let printed = ''
  let code: number | undefined
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  vi.spyOn(process, 'exit').mockImplementation((given) => {
    code = Number(given)
    return undefined as never
  })
  await main(argv)
  return [code, printed.trimEnd()]
}

it('an impossible value is refused with its name, its value and what is allowed', async () => {
  expect(await refused('train', '--learning_rate', 'fast')).toEqual([2, 'Cannot set learning_rate to "fast": need a number from 0 to 100'])
  expect(await refused('train', '--preset', 'huge')).toEqual([2, 'Cannot set preset to "huge": need one of book, tiny, gpu, none'])
  expect(await refused('train', '--ranks', '0')).toEqual([2, 'Cannot set ranks to "0": need a whole number from 1 to 64'])
  expect(await refused('train', '--ranks', '3', '--max_ranks', '2')).toEqual([2, 'Cannot set ranks to 3: need at most max_ranks, 2'])
  expect(await refused('train', '--compute_here', 'maybe')).toEqual([2, 'Cannot set compute_here to "maybe": need true or false'])
  expect(await refused('serve', '--port', 'http')).toEqual([2, 'Cannot set port to "http": need a whole number from 0 to 65535'])
})

it('an unknown option is refused with the nearest name', async () => {
  expect(await refused('train', '--learning-rat', '3')).toEqual([2, 'Cannot set learning-rat to "3": there is no such option, need learning_rate, the nearest name'])
  expect(await refused('train', '--max_step=3', '--seed', '1')).toEqual([2, 'Cannot set max_step to "3": there is no such option, need max_steps, the nearest name'])
  expect(await refused('train', 'moby.txt')).toEqual([2, 'Cannot read "moby.txt": it is no option, need --name value'])
})

it('an output folder that holds something, and one that is a file, are refused', async () => {
  const file = join(folder, 'model.safetensors')
  writeFileSync(file, '')
  expect(await refused('train', '--output_dir', folder)).toEqual([2, `Cannot set output_dir to "${folder}": need an empty or new folder, or --overwrite_output_dir`])
  expect(await refused('train', '--output_dir', file, '--overwrite_output_dir')).toEqual([2, `Cannot set output_dir to "${file}": need a folder; this is a file`])
})

it('a resumed run goes on in the folder of its checkpoint, or in one that is empty', async () => {
  const own = mkdtempSync(join(tmpdir(), 'tabring-'))
  const checkpoint = writeTestCheckpoint(own, 9, resolveOptions({ preset: 'tiny' }))
  const text = ['--train_file', join(folder, 'none.txt')]
  const noText = `Cannot set train_file to "${join(folder, 'none.txt')}": need the path of a text, JSONL, JSON or CSV file`
  expect(await refused('train', '--resume_from_checkpoint', checkpoint, ...text)).toEqual([2, noText])
  expect(await refused('train', '--resume_from_checkpoint', '--output_dir', own, ...text)).toEqual([2, noText])
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  expect(await refused('train', '--resume_from_checkpoint', checkpoint, '--output_dir', folder)).toEqual([
    2,
    `Cannot set output_dir to "${folder}": need an empty or new folder, or --overwrite_output_dir`,
  ])
  expect(await refused('train', '--resume_from_checkpoint', checkpoint, '--model', own)).toEqual([
    2,
    `Cannot set model to "${own}": need none, because a checkpoint brings its model`,
  ])
  rmSync(own, { recursive: true })
})

it('a text that is not there is refused', async () => {
  const missing = join(folder, 'none.txt')
  expect(await refused('train', '--output_dir', join(folder, 'new'), '--train_file', missing)).toEqual([
    2,
    `Cannot set train_file to "${missing}": need the path of a text, JSONL, JSON or CSV file`,
  ])
})

it('an option without its value and an unknown command are refused with what is allowed', async () => {
  expect(await refused('train', '--max_steps')).toEqual([2, 'Cannot set max_steps: it has no value, need a whole number from 1 to 1000000000, or -1 for num_train_epochs'])
  expect(await refused('train', '--train_file')).toEqual([2, 'Cannot set train_file: it has no value, need --train_file <path>'])
  expect(await refused('fly')).toEqual([2, 'Cannot run fly: there is no such command, need serve, train, eval or merge'])
  expect(await refused('serve', '--prot', '80')).toEqual([2, 'Cannot set prot: there is no such option, need one that --help lists'])
  expect(await refused('serve', 'here')).toEqual([2, "Cannot read the command line: too many arguments for 'serve'. Expected 0 arguments but got 1."])
})

it('the help names every option with its default under its group, and is no failure', async () => {
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  expect(await refused('train', '--help')).toEqual([0, ''])
  for (const { name } of optionFields) expect(printed).toContain(`--${name} `)
  expect(printed).toContain('Learning-rate schedule:')
  expect(await refused('--help')).toEqual([0, ''])
  expect((await refused())[0]).toBe(2)
})
