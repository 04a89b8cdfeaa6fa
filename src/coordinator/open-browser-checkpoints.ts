import { BrowserCheckpoints } from './browser-checkpoints.ts'

/** This browser's checkpoints; null where it has no file system for pages, as in some private windows. */
export async function openBrowserCheckpoints(): Promise<BrowserCheckpoints | null> {
  try {
    const root = await navigator.storage.getDirectory()
    const checkpoints = new BrowserCheckpoints(await root.getDirectoryHandle('checkpoints', { create: true }), { hold, unlessHeld })
    await checkpoints.tidy()
    return checkpoints
  } catch (cause) {
    if (cause instanceof DOMException) return null
    throw cause
  }
}

function hold(name: string): void {
  void navigator.locks.request(name, () => new Promise<never>(() => {}))
}

async function unlessHeld(name: string, task: () => Promise<void>): Promise<void> {
  await navigator.locks.request(name, { ifAvailable: true }, (lock) => (lock ? task() : undefined))
}
