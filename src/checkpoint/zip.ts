import { unzipSync, type UnzipFileInfo, zipSync } from 'fflate'
import type { FolderFile } from './hf-folder.ts'

/** The one door to fflate. */

const MAX_FILES = 1_000
/** A zip of at most this is unpacked in memory. */
const MAX_BYTES = 2 * 1024 * 1024 * 1024
/** Deflate cannot shrink anything further: a larger size in a header is a lie that takes memory. */
const MAX_RATIO = 1_032
/** Weights are noise: trying to shrink them takes long and saves little. */
const STORED = /\.safetensors$/

/** `folder` becomes the directory that all files are in; empty for none. */
export function zipFiles(files: readonly FolderFile[], folder = ''): Uint8Array<ArrayBuffer> {
  const prefix = folder === '' ? '' : `${folder}/`
  return zipSync(Object.fromEntries(files.map(({ name, bytes }) => [`${prefix}${name}`, [bytes, { level: STORED.test(name) ? 0 : 6 }] as const])))
}

/**
 * The files of a zip, without its empty directories.
 * @throws before anything is unpacked when it is no zip, has too many or too large files, or names that leave its folder.
 */
export function unzipFiles(bytes: Uint8Array): FolderFile[] {
  const seen = new Set<string>()
  let total = 0
  unpack(bytes, (file) => {
    total += file.originalSize
    checkEntry(file, seen, total)
    seen.add(file.name)
    return false
  })
  const entries = Object.entries(unpack(bytes, ({ name }) => !name.endsWith('/')))
  return entries.map(([name, content]) => ({ name, bytes: content }))
}

function checkEntry({ name, size, originalSize }: UnzipFileInfo, seen: ReadonlySet<string>, total: number): void {
  if (seen.size >= MAX_FILES) throw new ZipRefusal(`it has more than ${MAX_FILES} files`, `at most ${MAX_FILES}`)
  if (total > MAX_BYTES) throw new ZipRefusal(`its files have more than ${MAX_BYTES} bytes`, `at most ${MAX_BYTES}`)
  if (originalSize > size * MAX_RATIO + 64) throw new ZipRefusal(`${JSON.stringify(name)} says it grows from ${size} to ${originalSize} bytes`, `at most ${MAX_RATIO} times`)
  if (seen.has(name)) throw new ZipRefusal(`it has ${JSON.stringify(name)} twice`, 'it once')
  const parts = name.split('/')
  const leaves = name.startsWith('/') || name.includes('\\') || name.includes('\0') || /^[a-z]:/i.test(name) || parts.includes('..') || name === ''
  if (leaves) throw new ZipRefusal(`it has a file named ${JSON.stringify(name)}`, 'names inside the folder')
}

class ZipRefusal extends Error {
  constructor(is: string, need: string, cause?: unknown) {
    super(`Cannot open the zip: ${is}, need ${need}`, { cause })
    this.name = 'ZipRefusal'
  }
}

function unpack(bytes: Uint8Array, filter: (file: UnzipFileInfo) => boolean): Record<string, Uint8Array> {
  try {
    return unzipSync(bytes, { filter })
  } catch (cause) {
    if (cause instanceof ZipRefusal) throw cause
    throw new ZipRefusal(cause instanceof Error ? cause.message : String(cause), 'a zip file', cause)
  }
}
