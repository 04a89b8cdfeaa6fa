import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { unzipFiles, zipFiles } from './zip.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('a zip', () => {
  it('comes back as it was', () => {
    const files = [
      { name: 'config.json', bytes: bytes('{}') },
      { name: 'model.safetensors', bytes: Uint8Array.from({ length: 5_000 }, (_, index) => index % 251) },
      { name: 'empty.txt', bytes: new Uint8Array() },
    ]
    expect(unzipFiles(zipFiles(files))).toEqual(files)
    expect(unzipFiles(zipFiles(files, 'book')).map(({ name }) => name)).toEqual(['book/config.json', 'book/model.safetensors', 'book/empty.txt'])
  })

  it('leaves weights as they are and shrinks text', () => {
    const text = bytes('again and again '.repeat(1_000))
    expect(zipFiles([{ name: 'model.safetensors', bytes: text }]).length).toBeGreaterThan(text.length)
    expect(zipFiles([{ name: 'tokenizer.json', bytes: text }]).length).toBeLessThan(text.length / 10)
  })

  it('skips directories', () => {
    expect(unzipFiles(zipSync({ folder: { 'a.txt': bytes('a') }, 'empty/': new Uint8Array() })).map(({ name }) => name)).toEqual(['folder/a.txt'])
  })

  it.each(['../up.txt', 'a/../../up.txt', '/etc/passwd', 'C:/x', 'a\\b'])('with a file named %s is refused', (name) => {
    expect(() => unzipFiles(zipSync({ [name]: bytes('x') }))).toThrow(`Cannot open the zip: it has a file named ${JSON.stringify(name)}, need names inside the folder`)
  })

  it('with too many files is refused', () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`${index}.txt`, bytes('x')]))
    expect(() => unzipFiles(zipSync(many))).toThrow('Cannot open the zip: it has more than 1000 files, need at most 1000')
  })

  it('that says its file is larger than it can be is refused', () => {
    const zip = zipSync({ 'a.txt': bytes('hello') })
    const central = zip.findIndex((_, at) => zip[at] === 0x50 && zip[at + 1] === 0x4b && zip[at + 2] === 1 && zip[at + 3] === 2)
    new DataView(zip.buffer).setUint32(central + 24, 1_000_000_000, true)
    expect(() => unzipFiles(zip)).toThrow(/"a.txt" says it grows from \d+ to 1000000000 bytes/)
  })

  it('that is none is refused', () => {
    for (const data of [new Uint8Array(), bytes('hello'), new Uint8Array(100), zipFiles([{ name: 'a', bytes: bytes('x') }]).slice(5)]) {
      expect(() => unzipFiles(data)).toThrow(/^Cannot open the zip: /)
    }
  })
})
