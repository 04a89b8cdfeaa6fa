import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { findBreaches } from './check-imports.mjs'

let folder = ''
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function breaches(files: Readonly<Record<string, string>>): string[] {
  folder = mkdtempSync(join(tmpdir(), 'rooms-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return findBreaches(folder)
}

it('an import downwards is fine, in code and in types', () => {
  expect(breaches({ 'base/a.ts': '', 'engine/b.ts': "import { a } from '../base/a.ts'\nimport type { b } from '../base/a.ts'" })).toEqual([])
})

it('an import upwards is named with what is allowed', () => {
  expect(breaches({ 'base/a.ts': "import { b } from '../engine/b.ts'", 'engine/b.ts': '' })).toEqual(['base/a.ts imports engine/b.ts: base may import nothing'])
})

it('a cycle is shown', () => {
  expect(breaches({ 'base/a.ts': "import './b.ts'", 'base/b.ts': "import './a.ts'" })).toEqual(['import cycle: base/a.ts -> base/b.ts -> base/a.ts'])
})

it('a second importer of a wrapped package is named', () => {
  expect(breaches({ 'rank/a.ts': "import * as c from 'comlink'", 'rank/b.ts': "const c = await import('comlink')" })).toEqual([
    'comlink is imported by rank/a.ts and rank/b.ts: one door file is enough',
  ])
})
