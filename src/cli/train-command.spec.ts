import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { resolveOptions } from '../protocol/presets.ts'
import type { RunStart } from './run-start.ts'
import { train } from './train-command.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-train-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function start(output_dir: string, from: RunStart | null = null): Promise<void> {
  return train({
    task: 'train',
    ranks: 1,
    computeHere: true,
    trainFile: null,
    validationFile: null,
    overwrite: false,
    options: resolveOptions({ preset: 'tiny', output_dir }),
    start: from,
  })
}

it('refuses an output folder below a file, or where nothing can be written, before it starts', async () => {
  writeFileSync(join(folder, 'note.txt'), '')
  await expect(start(join(folder, 'note.txt', 'model'))).rejects.toThrow(`need a folder that can be written; ${join(folder, 'note.txt')} is a file`)
  await expect(start('/proc/tabring/model')).rejects.toThrow('need a folder that can be written; nothing can be written in /proc')
  expect(readdirSync(folder)).toEqual(['note.txt'])
})

it('does not write beside a checkpoint that was copied to where other files are', async () => {
  const copy = join(folder, 'backup')
  mkdirSync(copy)
  writeFileSync(join(folder, 'README.md'), 'mine')
  const from: RunStart = { kind: 'checkpoint', folder: copy, files: [], options: resolveOptions({ preset: 'tiny' }), state: null, baseModel: null }
  await expect(start(folder, from)).rejects.toThrow('need an empty or new folder, or --overwrite_output_dir')
})
