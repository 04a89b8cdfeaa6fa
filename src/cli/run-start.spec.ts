import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { resolveOptions } from '../protocol/presets.ts'
import { resumeFrom } from './run-start.ts'
import { writeTestCheckpoint } from './testing/test-checkpoint.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const SAVED = resolveOptions({ preset: 'tiny', n_embd: 16, max_steps: 12, global_batch_size: 8, learning_rate: 0.01 })
const checkpoint = (step: number): string => writeTestCheckpoint(folder, step, SAVED)

it('options that are not given are those of the checkpoint; its folder is where the next ones go', () => {
  const path = checkpoint(9)
  const { options } = resumeFrom(path, { max_steps: '20' })
  expect(options).toEqual({ ...SAVED, max_steps: 20, output_dir: folder })
  expect(resumeFrom(path, { preset: 'tiny', learning_rate: '0.02', output_dir: 'elsewhere' }).options).toEqual({ ...SAVED, learning_rate: 0.02, output_dir: 'elsewhere' })
  expect(resumeFrom(path, { num_train_epochs: '2' }).options).toMatchObject({ max_steps: -1, num_train_epochs: 2 })
})

it('true takes the checkpoint of most updates in output_dir', () => {
  for (const step of [9, 12, 100]) checkpoint(step)
  mkdirSync(join(folder, 'tmp-checkpoint-200'))
  expect(resumeFrom('true', { output_dir: folder }).folder).toBe(join(folder, 'checkpoint-100'))
  expect(() => resumeFrom('true', { output_dir: join(folder, 'checkpoint-9') })).toThrow(
    `Cannot set resume_from_checkpoint to true: need a folder checkpoint-N in output_dir, which is ${join(folder, 'checkpoint-9')}`,
  )
})

it.each([
  [{ n_embd: '32' }, 'Cannot set n_embd to 32: need 16, with which checkpoint-9 was trained'],
  [{ n_layer: '3' }, 'Cannot set n_layer to 3: need 2, with which checkpoint-9 was trained'],
  [{ tokenizer: 'byte' }, 'Cannot set tokenizer to "byte": need char, with which checkpoint-9 was trained'],
  [{ global_batch_size: '16' }, 'Cannot set global_batch_size to 16: need 8, with which checkpoint-9 was trained'],
  [{ per_device_train_batch_size: '2' }, 'Cannot set per_device_train_batch_size to 2: need 4, with which checkpoint-9 was trained'],
  [{ seed: '1' }, 'Cannot set seed to 1: need 42, with which checkpoint-9 was trained'],
  [{ preset: 'book' }, 'Cannot set n_embd to 64: need 16, with which checkpoint-9 was trained'],
])('%o contradicts the checkpoint and is refused with both values', (raw, message) => {
  const path = checkpoint(9)
  expect(() => resumeFrom(path, raw)).toThrow(message)
})

it('a run that has no update left to do is refused, with what it needs', () => {
  const path = checkpoint(1)
  const file = join(path, 'training_state.json')
  const record = {
    step: 1,
    loss: 4,
    grad_norm: 1,
    learning_rate: 0.01,
    epoch: 0.1,
    num_items: 7,
    num_samples: 1,
    num_tokens: 8,
    outcome: 'committed',
    ranks: 1,
    tokens_per_second: 9,
    elapsed_ms: 5,
  }
  const state: object = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...state, committed: 1, update: 1, records: [record] }))
  expect(resumeFrom(path, { max_steps: '2' }).state?.update).toBe(1)
  expect(() => resumeFrom(path, { max_steps: '1' })).toThrow('Cannot set max_steps to 1: need more than 1, the updates that checkpoint-1 has done')
})

it('what is no checkpoint is refused by what is missing or does not read', () => {
  const path = checkpoint(9)
  writeFileSync(join(path, 'training_state.json'), '{"version":2,"committed":3}')
  expect(() => resumeFrom(path, {})).toThrow('Cannot read training_state.json: update is undefined, need')
  rmSync(join(path, 'optimizer.safetensors'))
  expect(() => resumeFrom(path, {})).toThrow(`Cannot set resume_from_checkpoint to "${path}": need a checkpoint of Tabring; optimizer.safetensors is missing in ${path}`)
  expect(() => resumeFrom(join(folder, 'none'), {})).toThrow('need the folder of a checkpoint, or true')
})
