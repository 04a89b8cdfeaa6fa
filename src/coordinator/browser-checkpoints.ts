import * as v from 'valibot'
import type { FolderFile } from '../checkpoint/hf-folder.ts'
import type { CheckpointFacts, CheckpointPlace } from './checkpoint-place.ts'

/** A checkpoint in this browser's origin-private file system. */
export interface KeptCheckpoint extends CheckpointFacts {
  /** Its folders: the run's, and its own inside that. */
  readonly at: readonly [run: string, folder: string]
  /** Milliseconds since the epoch. */
  readonly savedMs: number
  readonly bytes: number
}

/** Written last, in one piece: without it a folder is what an interrupted write has left, and is never read. */
const MARKER = 'kept.json'

const marker = v.object({
  name: v.string(),
  step: v.number(),
  update: v.number(),
  totalUpdates: v.number(),
  loss: v.nullable(v.number()),
  source: v.object({ name: v.string(), amount: v.number(), unit: v.picklist(['characters', 'rows']) }),
  preset: v.string(),
  outputDir: v.string(),
  savedMs: v.number(),
  bytes: v.number(),
})

/** Keeps a lock as long as this page lives. */
export type HoldLock = (name: string) => void
/** Runs `task` unless somebody holds the lock. */
export type TryLock = (name: string, task: () => Promise<void>) => Promise<void>

export interface BrowserLocks {
  readonly hold: HoldLock
  readonly unlessHeld: TryLock
}

/**
 * Checkpoints of this browser: a folder for each run, and in it one for each checkpoint. A checkpoint is never written over: another
 * one of its name stands before it goes.
 */
export class BrowserCheckpoints {
  readonly #runs: FileSystemDirectoryHandle
  readonly #locks: BrowserLocks

  /** `runs`: a directory for these alone. */
  constructor(runs: FileSystemDirectoryHandle, locks: BrowserLocks) {
    this.#runs = runs
    this.#locks = locks
  }

  /** A place for one run, for as long as this page lives. */
  place(limit: number | null): CheckpointPlace {
    const run = crypto.randomUUID()
    this.#locks.hold(lockOf(run))
    return { keep: (facts, files) => this.#keep(run, { facts, files, limit }) }
  }

  /** Whole ones, the newest first. */
  async list(): Promise<KeptCheckpoint[]> {
    const kept: KeptCheckpoint[] = []
    for await (const [run, handle] of this.#runs.entries()) {
      if (handle.kind === 'directory') kept.push(...(await checkpointsOf(run, handle as FileSystemDirectoryHandle)))
    }
    return kept.sort((a, b) => b.savedMs - a.savedMs)
  }

  /** @returns null when it has no such file. */
  async read({ at: [run, folder] }: KeptCheckpoint, name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const directory = await (await this.#runs.getDirectoryHandle(run)).getDirectoryHandle(folder)
    return readFile(directory, name)
  }

  async files({ at: [run, folder] }: KeptCheckpoint): Promise<FolderFile[]> {
    const directory = await (await this.#runs.getDirectoryHandle(run)).getDirectoryHandle(folder)
    const files: FolderFile[] = []
    for await (const name of directory.keys()) {
      const bytes = name === MARKER ? null : await readFile(directory, name)
      if (bytes) files.push({ name, bytes })
    }
    return files.sort((a, b) => a.name.localeCompare(b.name))
  }

  async remove({ at: [run, folder] }: KeptCheckpoint): Promise<void> {
    const directory = await this.#runs.getDirectoryHandle(run)
    await removeFolder(directory, folder)
    if (await isEmpty(directory)) await this.#locks.unlessHeld(lockOf(run), () => this.#runs.removeEntry(run, { recursive: true }))
  }

  /** Clears away what interrupted writes of pages that are gone have left. */
  async tidy(): Promise<void> {
    for (const run of await namesOf(this.#runs)) {
      await this.#locks.unlessHeld(lockOf(run), async () => {
        const directory = await this.#runs.getDirectoryHandle(run)
        const whole = new Set((await checkpointsOf(run, directory)).map(({ at: [, folder] }) => folder))
        for (const folder of await namesOf(directory)) if (!whole.has(folder)) await directory.removeEntry(folder, { recursive: true })
        if (whole.size === 0) await this.#runs.removeEntry(run, { recursive: true })
      })
    }
  }

  async #keep(run: string, { facts, files, limit }: { readonly facts: CheckpointFacts; readonly files: readonly FolderFile[]; readonly limit: number | null }): Promise<void> {
    const directory = await this.#runs.getDirectoryHandle(run, { create: true })
    const folder = `${facts.name}-${crypto.randomUUID()}`
    try {
      const target = await directory.getDirectoryHandle(folder, { create: true })
      for (const { name, bytes } of files) await writeFile(target, name, bytes)
      const bytes = files.reduce((sum, file) => sum + file.bytes.byteLength, 0)
      await writeFile(target, MARKER, new TextEncoder().encode(JSON.stringify({ ...facts, savedMs: Date.now(), bytes })))
    } catch (cause) {
      await directory.removeEntry(folder, { recursive: true }).catch(() => {}) // the reason is what went wrong before
      throw quotaSentence(cause, files)
    }
    const others = (await checkpointsOf(run, directory)).filter(({ at }) => at[1] !== folder).sort((a, b) => b.savedMs - a.savedMs)
    const replaced = others.filter(({ name }) => name === facts.name)
    const older = others.filter(({ name }) => name !== facts.name)
    const beyond = limit === null ? [] : older.slice(limit - 1)
    for (const gone of [...replaced, ...beyond]) await removeFolder(directory, gone.at[1])
  }
}

function lockOf(run: string): string {
  return `tabring-run-${run}`
}

async function checkpointsOf(run: string, directory: FileSystemDirectoryHandle): Promise<KeptCheckpoint[]> {
  const kept: KeptCheckpoint[] = []
  for (const folder of await namesOf(directory)) {
    const bytes = await readFile(await directory.getDirectoryHandle(folder), MARKER)
    const parsed = bytes && v.safeParse(marker, parseJson(bytes))
    if (parsed?.success) kept.push({ ...parsed.output, at: [run, folder] })
  }
  return kept
}

/** Without its marker first: what is left of an interrupted removal is no checkpoint. */
async function removeFolder(directory: FileSystemDirectoryHandle, folder: string): Promise<void> {
  await (await directory.getDirectoryHandle(folder)).removeEntry(MARKER)
  await directory.removeEntry(folder, { recursive: true })
}

/** Names of directories. */
async function namesOf(directory: FileSystemDirectoryHandle): Promise<string[]> {
  const names: string[] = []
  for await (const [name, { kind }] of directory.entries()) if (kind === 'directory') names.push(name)
  return names
}

async function isEmpty(directory: FileSystemDirectoryHandle): Promise<boolean> {
  const first = await directory.keys().next()
  return first.done === true
}

async function readFile(directory: FileSystemDirectoryHandle, name: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    const file = await (await directory.getFileHandle(name)).getFile()
    return new Uint8Array(await file.arrayBuffer())
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'NotFoundError') return null
    throw cause
  }
}

/** The file has all of the bytes, or it is as it was before. */
async function writeFile(directory: FileSystemDirectoryHandle, name: string, bytes: Uint8Array): Promise<void> {
  const file = await directory.getFileHandle(name, { create: true })
  const stream = await file.createWritable()
  try {
    await stream.write(bytes as Uint8Array<ArrayBuffer>) // never shared memory
  } catch (cause) {
    await stream.abort(cause)
    throw cause
  }
  await stream.close()
}

function quotaSentence(cause: unknown, files: readonly FolderFile[]): unknown {
  if (!(cause instanceof DOMException) || cause.name !== 'QuotaExceededError') return cause
  const bytes = files.reduce((sum, file) => sum + file.bytes.byteLength, 0)
  return new Error(`this browser has no room for its ${bytes} bytes, need less kept: set save_total_limit, or delete checkpoints below`, { cause })
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return null // no marker that this page has written
  }
}
