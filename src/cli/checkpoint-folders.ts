import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What a checkpoint's folder is made of: names and sizes, and all their bytes one after the other. */
export interface IncomingCheckpoint {
  /** `checkpoint-N` */
  readonly name: string
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  readonly content: AsyncIterator<Uint8Array>
}

const FOLDER = /^checkpoint-(\d+)$/
/** Being written, and being replaced: never read. */
const TEMPORARY = /^tmp-checkpoint-\d+$/
const REPLACED = /^old-(checkpoint-\d+)$/

/** Whether a page may name a checkpoint so. */
export function isCheckpointName(name: string): boolean {
  return FOLDER.test(name)
}

/**
 * Writes a checkpoint beside the others and lets it take its name only when all of it is on the disk; then the oldest beyond `limit` go.
 * @throws when it cannot be written; what was there before is unharmed.
 */
export async function writeCheckpoint(outputDir: string, incoming: IncomingCheckpoint, limit: number | null): Promise<void> {
  await mkdir(outputDir, { recursive: true })
  await tidyCheckpoints(outputDir)
  const temporary = join(outputDir, `tmp-${incoming.name}`)
  try {
    await mkdir(temporary)
    await writeFiles(temporary, incoming)
    await syncFolder(temporary)
    await takeName(outputDir, temporary, incoming.name)
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true })
    throw cause
  }
  if (limit !== null) await removeOldest(outputDir, limit, incoming.name)
}

/** Clears away what an interrupted write left; a checkpoint that was about to be replaced gets its name back. */
async function tidyCheckpoints(outputDir: string): Promise<void> {
  for (const name of readdirSync(outputDir)) {
    const [, replaced] = REPLACED.exec(name) ?? []
    if (replaced !== undefined && !existsSync(join(outputDir, replaced))) await rename(join(outputDir, name), join(outputDir, replaced))
    else if (replaced !== undefined || TEMPORARY.test(name)) await rm(join(outputDir, name), { recursive: true, force: true })
  }
}

/** The path of the checkpoint with most updates; null when there is none. */
export function newestCheckpoint(outputDir: string): string | null {
  const [newest] = checkpointsIn(outputDir).sort((a, b) => b.step - a.step)
  return newest ? join(outputDir, newest.name) : null
}

async function writeFiles(folder: string, { files, content }: IncomingCheckpoint): Promise<void> {
  let rest: Uint8Array = new Uint8Array(0)
  for (const { name, bytes } of files) {
    const file = await open(join(folder, name), 'wx')
    try {
      let left = bytes
      while (left > 0) {
        if (rest.length === 0) rest = await nextChunk(content, name, left)
        const part = rest.subarray(0, left)
        await file.writeFile(part)
        left -= part.length
        rest = rest.subarray(part.length)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }
  if (rest.length > 0 || !(await content.next()).done) throw new Error('more bytes came than its files have')
}

async function nextChunk(chunks: AsyncIterator<Uint8Array>, name: string, left: number): Promise<Uint8Array> {
  const { done, value } = await chunks.next()
  if (done) throw new Error(`${name} ended ${left} bytes too early`)
  return value
}

/** A rename is on the disk when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function takeName(outputDir: string, temporary: string, name: string): Promise<void> {
  const final = join(outputDir, name)
  const old = join(outputDir, `old-${name}`)
  if (existsSync(final)) await rename(final, old)
  await rename(temporary, final)
  await syncFolder(outputDir)
  await rm(old, { recursive: true, force: true })
}

/** Oldest by when they were written: after a resume from an earlier one, numbers tell another order. */
async function removeOldest(outputDir: string, limit: number, keep: string): Promise<void> {
  const others = checkpointsIn(outputDir).filter(({ name }) => name !== keep)
  others.sort((a, b) => b.writtenMs - a.writtenMs || b.step - a.step)
  for (const { name } of others.slice(limit - 1)) await rm(join(outputDir, name), { recursive: true, force: true })
}

function checkpointsIn(outputDir: string): { readonly name: string; readonly step: number; readonly writtenMs: number }[] {
  if (!existsSync(outputDir)) return []
  return readdirSync(outputDir).flatMap((name) => {
    const [, step] = FOLDER.exec(name) ?? []
    return step === undefined ? [] : [{ name, step: Number(step), writtenMs: statSync(join(outputDir, name)).mtimeMs }]
  })
}
