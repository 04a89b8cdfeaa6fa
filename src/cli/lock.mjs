import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const POLL_MS = 100
/** Longer than an install takes on a slow line. After that a lock was left by a process whose number another one has now. */
const STALE_MS = 15 * 60_000

/**
 * Waits until no other process holds `file`, then holds it. Blocks the thread: who prepares a command has nothing else to do.
 * A lock whose process has died is taken over.
 * @param {string} file
 * @param {() => void} onWait called once if the lock is not free at first
 * @returns {() => void} lets it go
 */
export function lock(file, onWait) {
  mkdirSync(dirname(file), { recursive: true })
  for (let waited = false; !take(file); ) {
    if (isStale(file)) rmSync(file, { force: true })
    else {
      if (!waited) onWait()
      waited = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
    }
  }
  return () => rmSync(file, { force: true })
}

/** @param {number} pid */
export function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // A process of another user lives too.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
}

/** @param {string} file */
function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}

/** @param {string} file */
function isStale(file) {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (!stat) return false
  if (Date.now() - stat.mtimeMs > STALE_MS) return true
  const pid = holder(file)
  return pid !== 0 && !isAlive(pid)
}

/** 0 while its maker has not written its number yet, or when the lock is gone. @param {string} file */
function holder(file) {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}
