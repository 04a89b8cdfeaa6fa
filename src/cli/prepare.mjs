import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sourceHash } from './source-hash.mjs'

/** Plain JavaScript without packages: it runs in a fresh clone, before anything is installed. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const INSTALLED = join(ROOT, 'node_modules', '.tabring-lock')
const BUILT = join(ROOT, 'dist', '.tabring-build')
const MIN_NODE = 20

/** Ends the process with a sentence. @param {string} sentence @returns {never} */
export function giveUp(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

/** Installs the packages of package-lock.json unless they are there. */
export function ensurePackages() {
  if (Number(process.versions.node.split('.')[0]) < MIN_NODE) giveUp(`Cannot run on Node ${process.versions.node}: need Node ${MIN_NODE} or newer (https://nodejs.org)`)
  const lock = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === lock) return
  process.stderr.write('Installing packages (once) ...\n')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status, error } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: ROOT, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (status !== 0)
    giveUp(
      `Cannot install the packages: npm ci ${error ? `did not start (${error.message})` : `ended with ${status}`}. Check that npm works and the package registry is reachable, then run the command again.`,
    )
  writeFileSync(INSTALLED, lock)
}

/** Builds pages and command line unless they are up to date; two commands at once do not disturb each other. */
export async function ensureBuild() {
  const hash = sourceHash(ROOT)
  if (existsSync(BUILT) && readFileSync(BUILT, 'utf8') === hash) return
  process.stderr.write('Building ...\n')
  const fresh = join(ROOT, `dist-${process.pid}`)
  try {
    const { build } = await import('./build.mjs')
    await build(ROOT, fresh)
    writeFileSync(join(fresh, '.tabring-build'), hash)
    const dist = join(ROOT, 'dist')
    const old = join(ROOT, `dist-old-${process.pid}`)
    mkdirSync(dist, { recursive: true })
    renameSync(dist, old)
    renameSync(fresh, dist)
    rmSync(old, { recursive: true, force: true })
  } catch (cause) {
    rmSync(fresh, { recursive: true, force: true })
    giveUp(`Cannot build: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
