import { fileURLToPath } from 'node:url'

/** The built pages lie beside the built command line. */
export function webRoot(): string {
  return fileURLToPath(new URL('../web', import.meta.url))
}
