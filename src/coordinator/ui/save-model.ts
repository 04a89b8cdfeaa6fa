import type { ExportOptions } from '../export-model.ts'
import type { SessionView } from '../session-view.ts'

/** The browser has its own hold on the blob once the download has started. */
const RELEASE_MS = 60_000

/** Hands the zip to the browser as a download. */
export async function saveModel(session: SessionView, options: ExportOptions): Promise<void> {
  download(await session.save(options))
}

export function download({ name, blob }: { readonly name: string; readonly blob: Blob }): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), RELEASE_MS)
}
