import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newestCheckpoint, writeCheckpoint } from './checkpoint-folders.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield new TextEncoder().encode(part)
}

function incoming(step: number, ...parts: readonly string[]) {
  const files = [
    { name: 'a.json', bytes: 4 },
    { name: 'empty', bytes: 0 },
    { name: 'b.bin', bytes: 3 },
  ]
  return { name: `checkpoint-${step}`, files, content: chunks(...parts) }
}

it('files are cut from the stream wherever its chunks end', async () => {
  await writeCheckpoint(join(folder, 'new'), incoming(1, 'ab', 'cdx', 'yz'), null)
  const read = (name: string) => readFileSync(join(folder, 'new', 'checkpoint-1', name), 'utf8')
  expect([read('a.json'), read('empty'), read('b.bin')]).toEqual(['abcd', '', 'xyz'])
  expect(readdirSync(join(folder, 'new'))).toEqual(['checkpoint-1'])
})

it.each([
  ['too few bytes', ['abcdx'], 'b.bin ended 2 bytes too early'],
  ['too many', ['abcdxyz', 'q'], 'more bytes came than its files have'],
])('%s leave no checkpoint, nothing temporary, and the earlier one as it was', async (_, parts, message) => {
  await writeCheckpoint(folder, incoming(1, 'abcdxyz'), 1)
  await expect(writeCheckpoint(folder, incoming(2, ...parts), 1)).rejects.toThrow(message)
  await expect(writeCheckpoint(folder, incoming(1, ...parts), 1)).rejects.toThrow(message)
  expect(readdirSync(folder)).toEqual(['checkpoint-1'])
  expect(readFileSync(join(folder, 'checkpoint-1', 'b.bin'), 'utf8')).toBe('xyz')
})

it('a stream that breaks, as a full disk or a crash does, harms no earlier checkpoint, and the next write clears up', async () => {
  await writeCheckpoint(folder, incoming(1, 'abcdxyz'), null)
  mkdirSync(join(folder, 'tmp-checkpoint-2'))
  writeFileSync(join(folder, 'tmp-checkpoint-2', 'a.json'), 'half')
  expect(newestCheckpoint(folder)).toBe(join(folder, 'checkpoint-1'))
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield* chunks('ab')
    throw new Error('no space left')
  }
  await expect(writeCheckpoint(folder, { ...incoming(3), content: broken() }, null)).rejects.toThrow('no space left')
  expect(readdirSync(folder)).toEqual(['checkpoint-1'])
})

it('one of the same number is replaced, and gets its name back when that was interrupted', async () => {
  await writeCheckpoint(folder, incoming(1, 'abcdxyz'), null)
  await writeCheckpoint(folder, incoming(1, 'ABCDXYZ'), null)
  expect(readFileSync(join(folder, 'checkpoint-1', 'b.bin'), 'utf8')).toBe('XYZ')
  mkdirSync(join(folder, 'old-checkpoint-7'))
  await writeCheckpoint(folder, incoming(2, 'abcdxyz'), null)
  expect(readdirSync(folder).sort()).toEqual(['checkpoint-1', 'checkpoint-2', 'checkpoint-7'])
})

it('the oldest beyond the limit go, by when they were written, and nothing else', async () => {
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  for (const step of [12, 15, 9]) await writeCheckpoint(folder, incoming(step, 'abcdxyz'), null)
  for (const [age, step] of [9, 15, 12].entries()) utimesSync(join(folder, `checkpoint-${step}`), 1_000 - age, 1_000 - age)
  await writeCheckpoint(folder, incoming(10, 'abcdxyz'), 2)
  expect(readdirSync(folder).sort()).toEqual(['checkpoint-10', 'checkpoint-9', 'notes.txt'])
  expect(newestCheckpoint(folder)).toBe(join(folder, 'checkpoint-10'))
})
