import type { CheckpointPlace } from './checkpoint-place.ts'
import type { ReadFile } from './start-folder.ts'

/** Files of the command line that opened this page, behind `base` on its server. */

export function readAt(base: string): ReadFile {
  return async (name) => {
    const response = await fetch(`${base}/${name}`)
    if (response.status === 404) return null
    if (!response.ok) throw new Error(`Cannot read ${name}: ${await response.text()}`)
    return new Uint8Array(await response.arrayBuffer())
  }
}

/** Hands checkpoints to the command line, which writes their folders. */
export function placeAt(base: string): CheckpointPlace {
  return {
    keep: async ({ name }, files) => {
      const query = new URLSearchParams(files.map((file) => ['file', `${file.name}:${file.bytes.byteLength}`]))
      const body = new Blob(files.map(({ bytes }) => bytes as Uint8Array<ArrayBuffer>)) // none is shared memory
      const response = await fetch(`${base}/${name}?${query}`, { method: 'PUT', body })
      if (!response.ok) throw new Error(await response.text())
    },
  }
}
