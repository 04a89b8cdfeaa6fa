import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { FolderFile } from '../checkpoint/hf-folder.ts'
import type { CheckpointFacts, CheckpointPlace } from '../coordinator/checkpoint-place.ts'
import { placeAt } from '../coordinator/local-files.ts'
import { type RunningServer, startServer } from '../server/serve.ts'
import { writeCheckpoint } from './checkpoint-folders.ts'
import { PageFiles } from './page-files.ts'

let folder = ''
let server: RunningServer
let files: PageFiles
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
  writeFileSync(join(folder, 'index.html'), 'coordinator')
  writeFileSync(join(folder, 'config.json'), '{}')
  files = new PageFiles([join(folder, 'config.json')], (incoming) => writeCheckpoint(join(folder, 'out'), incoming, null))
  server = await startServer({ port: 0, host: '127.0.0.1', webRoot: folder, handle: files.handle })
})
afterEach(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function place(): CheckpointPlace {
  return placeAt(`${server.url}${files.path}`)
}

function facts(name: string): CheckpointFacts {
  return { name, step: 1, update: 1, totalUpdates: 1, loss: 1, source: { name: 'text', amount: 1, unit: 'characters' }, preset: 'none', outputDir: 'out' }
}

it('the page reads the files that it may, and no others', async () => {
  const get = async (path: string) => (await fetch(`${server.url}${path}`)).text()
  expect(await get(`${files.path}/config.json`)).toBe('{}')
  expect(await get(`${files.path}/index.html`)).toBe('there is no index.html')
  expect(await get(`${files.path}/..%2fconfig.json`)).toMatch(/^there is no /)
  expect(await get('/files/guessed/config.json')).toMatch(/^There is no such page/)
  expect(await get('/')).toBe('coordinator')
})

it('checkpoints of the page become folders', async () => {
  const large = new Uint8Array(3_000_000).map((_, index) => index)
  await place().keep(facts('checkpoint-3'), [
    { name: 'model.safetensors', bytes: large },
    { name: 'config.json', bytes: new TextEncoder().encode('{"a":1}') },
  ])
  expect(readdirSync(join(folder, 'out', 'checkpoint-3')).sort()).toEqual(['config.json', 'model.safetensors'])
  expect(readFileSync(join(folder, 'out', 'checkpoint-3', 'model.safetensors')).equals(large)).toBe(true)
  expect(readFileSync(join(folder, 'out', 'checkpoint-3', 'config.json'), 'utf8')).toBe('{"a":1}')
})

it('names that leave the folder and folders that cannot be written are told to the page', async () => {
  const keep = (name: string, parts: readonly FolderFile[]): Promise<void> => place().keep(facts(name), parts)
  const one = { name: 'config.json', bytes: Uint8Array.of(1) }
  await expect(keep('checkpoint-1', [{ ...one, name: '../config.json' }])).rejects.toThrow("../config.json is no name of a checkpoint's file")
  await expect(keep('other', [one])).rejects.toThrow("other is no name of a checkpoint's file")
  writeFileSync(join(folder, 'out'), 'a file')
  await expect(keep('checkpoint-1', [{ ...one, bytes: new Uint8Array(30_000_000) }])).rejects.toThrow('EEXIST')
  await expect(keep('checkpoint-1', [one])).rejects.toThrow('EEXIST')
})
