import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isAlive, lock } from './lock.mjs'

let folder = ''
let file = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'))
  file = join(folder, 'deep', 'lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('a free lock is held at once and let go', () => {
  const onWait = vi.fn()
  const release = lock(file, onWait)
  expect(readFileSync(file, 'utf8')).toBe(String(process.pid))
  release()
  expect(existsSync(file)).toBe(false)
  expect(onWait).not.toHaveBeenCalled()
})

it('a lock whose process has died is taken over', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  expect(isAlive(pid)).toBe(false)
  lock(file, () => {})()
  writeFileSync(file, String(pid))
  lock(file, () => {})()
  expect(existsSync(file)).toBe(false)
})

it('a very old lock is taken over, for its number may belong to another process by now', () => {
  lock(file, () => {})()
  writeFileSync(file, String(process.pid))
  utimesSync(file, 0, 0)
  lock(file, () => {})()
  expect(existsSync(file)).toBe(false)
})

it('processes that want one lock have it one after the other', async () => {
  const log = join(folder, 'log')
  const code = `
    const { lock } = await import(process.argv[1])
    const { appendFileSync } = await import('node:fs')
    const release = lock(process.argv[2], () => {})
    appendFileSync(process.argv[3], 'in ')
    await new Promise((done) => setTimeout(done, 100))
    appendFileSync(process.argv[3], 'out ')
    release()`
  const module = fileURLToPath(new URL('./lock.mjs', import.meta.url))
  const codes = Array.from({ length: 3 }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, module, file, log])
    return new Promise((resolve) => child.once('close', resolve))
  })
  expect(await Promise.all(codes)).toEqual([0, 0, 0])
  expect(readFileSync(log, 'utf8')).toBe('in out in out in out ')
})
