import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadBookInNode } from './book-node.ts'
import { bpeTokenizer } from './bpe-tokenizer.ts'
import { trainBpe } from './bpe-trainer.ts'
import { GPT2_PATTERN } from './byte-level.ts'

/** Counts all pairs anew for every merge. */
function trainSlowly(text: string, vocabSize: number): [number, number][] {
  const words = [...text.matchAll(GPT2_PATTERN)].map(([word]) => [...new TextEncoder().encode(word)].map((byte) => [byte]))
  const names = new Map<string, number>()
  const idOf = (bytes: readonly number[]): number => {
    if (bytes.length === 1) return bytes[0] ?? 0
    const name = bytes.join()
    if (!names.has(name)) names.set(name, 256 + names.size)
    return names.get(name) ?? 0
  }
  const merges: [number, number][] = []
  while (names.size < vocabSize - 256) {
    const counts = new Map<string, { left: readonly number[]; right: readonly number[]; count: number }>()
    for (const word of words) {
      for (let at = 0; at + 1 < word.length; at++) {
        const [left, right] = [word[at] ?? [], word[at + 1] ?? []]
        const key = `${left.join()}|${right.join()}`
        const entry = counts.get(key) ?? { left, right, count: 0 }
        entry.count++
        counts.set(key, entry)
      }
    }
    const best = [...counts.values()].sort((a, b) => b.count - a.count || idOf(a.left) - idOf(b.left) || idOf(a.right) - idOf(b.right))[0]
    if (!best || best.count < 2) break
    merges.push([idOf(best.left), idOf(best.right)])
    const merged = [...best.left, ...best.right]
    idOf(merged)
    for (const word of words) {
      for (let at = 0; at + 1 < word.length; at++) {
        if (word[at]?.join() === best.left.join() && word[at + 1]?.join() === best.right.join()) word.splice(at, 2, merged)
      }
    }
  }
  return merges
}

describe('trainBpe', () => {
  it('merges the most frequent pair first', async () => {
    const [th, blank, the] = await trainBpe('the then, the there; that', 259)
    expect(th).toEqual({ left: 't'.charCodeAt(0), right: 'h'.charCodeAt(0), merged: 256 })
    expect(blank).toEqual({ left: ' '.charCodeAt(0), right: 256, merged: 257 }) // four times, as "the": the lower ids win
    expect(the).toEqual({ left: 257, right: 'e'.charCodeAt(0), merged: 258 })
  })

  it('learns what counting all pairs anew learns', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', 'é'), maxLength: 120 })
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const merges = await trainBpe(given, 300)
        expect(merges.map(({ left, right }) => [left, right])).toEqual(trainSlowly(given, 300))
      }),
      { numRuns: 150 },
    )
  })

  it('shares one id among merges that give the same bytes', async () => {
    const merges = await trainBpe('aaaaaaa '.repeat(4) + 'aaa '.repeat(9) + 'aa '.repeat(5), 270)
    const tokenizer = bpeTokenizer(merges)
    expect(Object.keys(Object(tokenizer.files(8)?.['tokenizer.json']['model']).vocab)).toHaveLength(tokenizer.vocabSize)
    expect(tokenizer.decode(tokenizer.encode('aaaaaaa aaaaa'))).toBe('aaaaaaa aaaaa')
  })

  it('learns a vocabulary of the book in a few seconds, telling its progress', async () => {
    const book = await loadBookInNode()
    const seen: number[] = []
    const started = performance.now()
    const merges = await trainBpe(book, 1_024, { onProgress: (done) => seen.push(done) })
    expect(performance.now() - started).toBeLessThan(20_000)
    expect(seen.at(-1)).toBe(768)
    expect(seen.length).toBeGreaterThan(2)
    const tokenizer = bpeTokenizer(merges)
    expect(tokenizer.vocabSize).toBe(1_024)
    const ids = tokenizer.encode(book)
    expect(book.length / ids.length).toBeGreaterThan(2.3)
    expect(tokenizer.decode(ids)).toBe(book)
  })

  it('stops early when no pair occurs twice', async () => {
    expect(await trainBpe('abcdef', 300)).toEqual([])
    expect(await trainBpe('', 300)).toEqual([])
  })

  it('stops when it is told to', async () => {
    const control = new AbortController()
    const training = trainBpe('the quick brown fox '.repeat(50_000), 300, { signal: control.signal })
    control.abort(new Error('changed my mind'))
    await expect(training).rejects.toThrow('changed my mind')
  })

  it('refuses a vocabulary without the bytes', async () => {
    await expect(trainBpe('abc', 255)).rejects.toThrow('Cannot train BPE of 255 tokens: need 256 to 65536')
  })
})

describe('bpeTokenizer', () => {
  it('takes a word of a hundred thousand letters', () => {
    const merges = [
      { left: 97, right: 97, merged: 256 },
      { left: 256, right: 256, merged: 257 },
    ]
    const ids = bpeTokenizer(merges).encode('a'.repeat(100_003))
    expect(ids).toHaveLength(25_002)
    expect([...ids.slice(24_999)]).toEqual([257, 256, 97])
  })

  it('refuses merges whose ids leave a gap', () => {
    expect(() => bpeTokenizer([{ left: 1, right: 2, merged: 300 }])).toThrow('Cannot use merge of 1 and 2 as 300')
  })
})
