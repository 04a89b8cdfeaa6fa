// `npm run check`: format, lint, types, walls between rooms, dead code, file lengths, page sizes. Runs all, then says what failed.
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ROOT, ensurePackages } from './prepare.mjs'

const MAX_LINES = 300
/** Initial scripts and styles of each page, gzip; parts that are loaded later do not count. */
const PAGE_LIMITS = { 'join.html': 200_000, 'index.html': 260_000 }

ensurePackages()
const { findBreaches } = await import('./check-imports.mjs')
const results = [
  tool('format', 'biome', ['format', '.']),
  tool('lint', 'oxlint', ['--type-aware', '--deny-warnings']),
  tool('types', 'tsc', ['--noEmit', '-p', '.']),
  tool('dead code', 'knip', ['--no-progress']),
  sentences('walls', findBreaches(join(ROOT, 'src'))),
  sentences('file lengths', longFiles(join(ROOT, 'src'))),
]
const built = build()
results.push(built)
if (built.ok) results.push(sentences('page sizes', heavyPages()))

const failed = results.filter(({ ok }) => !ok).map(({ name }) => name)
process.stdout.write(failed.length === 0 ? 'All checks passed\n' : `Checks that failed: ${failed.join(', ')}\n`)
process.exit(failed.length === 0 ? 0 : 1)

/** @param {string} name @param {string} binary @param {string[]} args */
function tool(name, binary, args) {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'node_modules', '.bin', binary), ...args], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  return { name, ok: status === 0 }
}

/** In a process of its own, for a failed build ends it. */
function build() {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'src', 'cli', 'build-now.mjs')], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return { name: 'build', ok: status === 0 }
}

/** @param {string} name @param {string[]} found */
function sentences(name, found) {
  for (const sentence of found) process.stdout.write(`${name}: ${sentence}\n`)
  return { name, ok: found.length === 0 }
}

/** @param {string} folder @returns {string[]} */
function longFiles(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return longFiles(path)
    if (!/\.tsx?$/.test(name)) return []
    const lines = readFileSync(path, 'utf8').split('\n').length - 1
    return lines > MAX_LINES ? [`${path.slice(ROOT.length + 1)} has ${lines} lines, need at most ${MAX_LINES}`] : []
  })
}

function heavyPages() {
  const web = join(ROOT, 'dist', 'web')
  return Object.entries(PAGE_LIMITS).flatMap(([page, limit]) => {
    const html = readFileSync(join(web, page), 'utf8')
    const parts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map((match) => join(web, match[1] ?? ''))
    const bytes = parts.reduce((sum, part) => sum + gzipSync(readFileSync(part)).length, gzipSync(html).length)
    process.stdout.write(`${page}: ${bytes} bytes gzip of ${limit}\n`)
    return bytes > limit ? [`${page} loads ${bytes} bytes (gzip) at first, need at most ${limit}`] : []
  })
}
