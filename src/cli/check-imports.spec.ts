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

it('a type may name its user, and tests may import what they like', () => {
  expect(
    breaches({
      'base/a.ts': "import type { B } from './b.ts'",
      'base/b.ts': "import { a } from './a.ts'",
      'base/a.spec.ts': "import { c } from '../rank/c.ts'",
      'rank/c.ts': "import '../ui/page.css'\nimport shader from '../../shaders/add.wgsl?raw'",
      'ui/page.css': '',
    }),
  ).toEqual([])
})

it('an import of a type goes downwards too, and a room that is not in the table may import nothing', () => {
  expect(breaches({ 'base/a.ts': "export type { B } from '../nn/b.ts'", 'nn/b.ts': '', 'shed/c.ts': "import '../base/a.ts'" })).toEqual([
    'base/a.ts imports nn/b.ts: base may import nothing',
    'shed/c.ts imports base/a.ts: shed may import nothing',
  ])
})
