import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Page } from 'playwright'
import { unzipFiles } from '../checkpoint/zip.ts'

/** Longer than a rank may take to hand over its model. */
const DOWNLOAD_DEADLINE_MS = 150_000

/**
 * Lets the coordinator page save its model and unpacks the zip into `folder`, without the folder inside the zip.
 * @throws a sentence when the page cannot save or the folder cannot be written.
 */
export async function saveModel(coordinator: Page, folder: string): Promise<void> {
  try {
    const [download] = await Promise.all([coordinator.waitForEvent('download', { timeout: DOWNLOAD_DEADLINE_MS }), coordinator.evaluate('window.tabringSave()')])
    const files = unzipFiles(readFileSync(await download.path()))
    mkdirSync(folder, { recursive: true })
    for (const { name, bytes } of files) writeFileSync(join(folder, basename(name)), bytes)
  } catch (cause) {
    throw new Error(`Cannot save the model into ${folder}: ${reason(cause)}`, { cause })
  }
}

/** Playwright puts its call before a page's message and a stack behind it. */
function reason(cause: unknown): string {
  const first = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''
  return first.replace(/^page\.\w+: (Error: )?/, '').replace(/^Cannot save: /, '')
}
