import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAlive, lock } from './lock.mjs'
import { sourceHash } from './source-hash.mjs'

/** Plain JavaScript without packages: it runs in a fresh clone, before anything is installed. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const INSTALLED = join(ROOT, 'node_modules', '.tabring-lock')
/** Each build has a folder of its own, named by its sources, so that one that still serves is never pulled from under its readers. */
const BUILDS = join(ROOT, 'dist', 'builds')
const PARTS = ['web', 'node']
const MIN_NODE = 20
/** Who has just been given a build has marked it as used by then. */
const UNUSED_MS = 60_000

/** Ends the process with a sentence. @param {string} sentence @returns {never} */
export function giveUp(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

/** Installs the packages of package-lock.json unless they are there. */
export function ensurePackages() {
  if (Number(process.versions.node.split('.')[0]) < MIN_NODE) giveUp(`Cannot run on Node ${process.versions.node}: need Node ${MIN_NODE} or newer (https://nodejs.org)`)
  if (isInstalled()) return
  const release = lockPreparation()
  try {
    if (!isInstalled()) install()
  } finally {
    release()
  }
}

/**
 * Builds pages and command line unless they are up to date; `dist/web` and `dist/node` lead to them. Commands that run at the same time
 * wait for each other.
 * @returns {Promise<string>} the folder of the build
 */
export async function ensureBuild() {
  const built = join(BUILDS, sourceHash(ROOT))
  if (isCurrent(built)) return built
  const release = lockPreparation()
  try {
    return await publish()
  } catch (cause) {
    release()
    giveUp(`Cannot build: ${cause instanceof Error ? cause.message : String(cause)}`)
  } finally {
    release()
  }
}

/** Keeps a build while this process lives. @param {string} built */
export function markUsed(built) {
  mkdirSync(join(built, 'users'), { recursive: true })
  writeFileSync(join(built, 'users', String(process.pid)), '')
}

function lockPreparation() {
  return lock(join(ROOT, '.cache', 'prepare.lock'), () => process.stderr.write('Waiting for another command that installs or builds ...\n'))
}

function packagesHash() {
  return createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
}

function isInstalled() {
  return existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === packagesHash()
}

function install() {
  const hash = packagesHash()
  process.stderr.write('Installing packages (once) ...\n')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status, error } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: ROOT, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  if (status !== 0) {
    const what = error ? `did not start (${error.message})` : `ended with ${status}`
    giveUp(`Cannot install the packages: npm ci ${what}. Check that npm works and the package registry is reachable, then run the command again.`)
  }
  writeFileSync(INSTALLED, hash)
}

/** @param {string} built */
function isCurrent(built) {
  return existsSync(built) && PARTS.every((part) => linkTarget(part) === join(built, part))
}

/** @param {string} part */
function linkTarget(part) {
  try {
    return readlinkSync(join(ROOT, 'dist', part))
  } catch {
    return null // not there, or a folder
  }
}

/** Builds what is missing and leads `dist/web` and `dist/node` to it. */
async function publish() {
  const hash = sourceHash(ROOT)
  let built = join(BUILDS, hash)
  if (!existsSync(built)) {
    const fresh = join(BUILDS, `unfinished-${process.pid}`)
    await buildInto(fresh)
    // Edited meanwhile: what was built is of no state of the sources, so the next command builds again.
    if (sourceHash(ROOT) !== hash) built = join(BUILDS, `edited-${Date.now()}`)
    renameSync(fresh, built)
  }
  for (const part of PARTS) lead(part, join(built, part))
  removeUnused(built)
  return built
}

/** @param {string} folder */
async function buildInto(folder) {
  process.stderr.write('Building ...\n')
  try {
    const { build } = await import('./build.mjs')
    await build(ROOT, folder)
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true })
    throw cause
  }
}

/** @param {string} part @param {string} target */
function lead(part, target) {
  const link = join(ROOT, 'dist', part)
  if (linkTarget(part) === null) rmSync(link, { recursive: true, force: true })
  const fresh = `${link}-${process.pid}`
  symlinkSync(target, fresh, 'junction')
  renameSync(fresh, link)
}

/** @param {string} current */
function removeUnused(current) {
  for (const name of readdirSync(BUILDS)) {
    const folder = join(BUILDS, name)
    const young = Date.now() - statSync(folder).mtimeMs < UNUSED_MS
    if (folder === current || young || usersOf(folder).some(isAlive)) continue
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder */
function usersOf(folder) {
  const users = join(folder, 'users')
  return existsSync(users) ? readdirSync(users).map(Number) : []
}
