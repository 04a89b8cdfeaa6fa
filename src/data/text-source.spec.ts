import { describe, expect, it } from 'vitest'
import { readTextFile } from './text-source.ts'

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const long = 'All work and no play makes Jack a dull boy. '.repeat(4)

describe('readTextFile', () => {
  it('reads UTF-8 without its byte order mark and with one kind of line end', () => {
    expect(readTextFile('a.txt', utf8(`\uFEFFone\r\ntwo\rthree\n${long}é👩`))).toBe(`one\ntwo\nthree\n${long}é👩`)
  })

  it.each(['utf-16le', 'utf-16be'])('reads %s with a byte order mark', (encoding) => {
    const bytes = Uint8Array.from(`\uFEFF${long}`, (character) => character.charCodeAt(0))
    const units = new DataView(new ArrayBuffer((long.length + 1) * 2))
    for (const [index, character] of [...`\uFEFF${long}`].entries()) units.setUint16(index * 2, character.charCodeAt(0), encoding === 'utf-16le')
    expect(bytes.length).toBe(long.length + 1)
    expect(readTextFile('a.txt', new Uint8Array(units.buffer))).toBe(long)
  })

  it('leaves out a last character that was cut off', () => {
    expect(readTextFile('head.txt', utf8(`${long}é`).slice(0, -1))).toBe(long)
  })

  it.each([
    ['empty.txt', new Uint8Array(), 'Cannot use empty.txt: it is empty, need a text file'],
    ['blank.txt', utf8(' \n'.repeat(100)), 'Cannot use blank.txt: it has nothing but blank space, need a text file'],
    ['note.txt', utf8('hello'), 'Cannot use note.txt: it has 5 characters, need at least 100'],
    ['cat.png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13), 'Cannot use cat.png: it is not text, need a plain text file'],
    ['noise.gz', Uint8Array.from({ length: 1_000 }, (_, index) => ((index * 73) % 255) + 1), 'Cannot use noise.gz: it is not text, need a plain text file'],
    ['zeros.txt', utf8(`${long}\0`), 'Cannot use zeros.txt: it is not text (a NUL character at position 176), need a plain text file'],
    ['latin.txt', Uint8Array.of(...utf8(long), 0xe9, 0x20), 'Cannot use latin.txt: it is not UTF-8, need UTF-8: open it in a text editor and save it again with that encoding'],
    ['huge.txt', new Uint8Array(65 * 1024 * 1024), 'Cannot use huge.txt: it has 65 MB, need at most 64 MB'],
  ])('refuses %s in a sentence', (name, bytes, message) => {
    expect(() => readTextFile(name, bytes)).toThrow(message)
  })
})
