/** Text and its tokens stay in memory, on the page and on each rank. */
const MAX_BYTES = 64 * 1024 * 1024
/** Less is no text to learn from, whatever the options. */
const MIN_CHARACTERS = 100

/**
 * The text of a file that a person gave: UTF-8, or UTF-16 with a byte order mark. Line ends become "\n".
 * @throws with a sentence for a person when it is empty, too large, not text, or too short.
 */
export function readTextFile(name: string, bytes: Uint8Array): string {
  if (bytes.length === 0) throw refusal(name, 'it is empty', 'a text file')
  if (bytes.length > MAX_BYTES) throw refusal(name, `it has ${megabytes(bytes.length)} MB`, `at most ${megabytes(MAX_BYTES)} MB`)
  const text = decode(name, bytes).replace(/\r\n?/g, '\n')
  const nul = text.indexOf('\0')
  if (nul >= 0) throw refusal(name, `it is not text (a NUL character at position ${nul})`, 'a plain text file')
  if (text.trim() === '') throw refusal(name, 'it has nothing but blank space', 'a text file')
  if (text.length < MIN_CHARACTERS) throw refusal(name, `it has ${text.length} characters`, `at least ${MIN_CHARACTERS}`)
  return text
}

function decode(name: string, bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  try {
    // `stream` leaves out a last character that was cut off, as in the head of a longer file.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch (cause) {
    const binary = bytes.includes(0) || share(bytes, isControl) > 0.01
    const is = binary ? 'it is not text' : 'it is not UTF-8'
    throw refusal(name, is, binary ? 'a plain text file' : 'UTF-8: open it in a text editor and save it again with that encoding', cause)
  }
}

/** Control characters that no text file has; tab, line ends, form feed and escape may occur. */
function isControl(byte: number): boolean {
  return byte < 0x20 && byte !== 0x1b && !(byte >= 0x09 && byte <= 0x0d)
}

function share(bytes: Uint8Array, test: (byte: number) => boolean): number {
  let count = 0
  for (const byte of bytes) if (test(byte)) count++
  return count / bytes.length
}

function megabytes(bytes: number): number {
  return Math.round(bytes / (1024 * 1024))
}

function refusal(name: string, is: string, need: string, cause?: unknown): Error {
  return new Error(`Cannot use ${name}: ${is}, need ${need}`, { cause })
}
