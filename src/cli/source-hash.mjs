import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

/** What a build is made from. */
const SOURCES = ['src', 'shaders', 'public', 'index.html', 'join.html', 'vite.config.ts', 'tsconfig.json', 'package-lock.json']

/**
 * A short hash over the sources, tests aside: names a build, so that ranks of different builds do not train together (J4).
 * @param {string} root the project's folder
 */
export function sourceHash(root) {
  const hash = createHash('sha256')
  for (const file of SOURCES.flatMap((source) => filesBelow(join(root, source))).sort()) {
    if (file.endsWith('.spec.ts')) continue
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex').slice(0, 12)
}

/** @param {string} path @returns {string[]} */
function filesBelow(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  if (stat.isFile()) return [path]
  return readdirSync(path).flatMap((name) => filesBelow(join(path, name)))
}
