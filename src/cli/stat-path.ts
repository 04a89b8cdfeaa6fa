import { type Stats, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What is at a path; nothing also where a parent is no folder. */
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // a parent is a file, or may not be looked into
  }
}

/** Why nothing can be written at `path`, which need not be there yet; null when it can. Tries it, for permissions alone do not tell. */
export function whyNotWritable(path: string): string | null {
  let parent = path
  while (!statPath(parent) && dirname(parent) !== parent) parent = dirname(parent)
  if (!statPath(parent)?.isDirectory()) return `${parent} is a file`
  try {
    rmdirSync(mkdtempSync(join(parent, '.tabring-')))
    return null
  } catch {
    return `nothing can be written in ${parent}`
  }
}
