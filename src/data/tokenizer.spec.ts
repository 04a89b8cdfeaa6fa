import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { loadBookInNode } from './book-node.ts'
import { bpeTokenizer } from './bpe-tokenizer.ts'
import { trainBpe } from './bpe-trainer.ts'
import { buildTokenizer, promptIds } from './build-tokenizer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { charTokenizer } from './char-tokenizer.ts'
import type { Tokenizer } from './tokenizer.ts'
import { tokenizerFromJson } from './tokenizer-from-json.ts'

const TRICKY = "It's  twelve\n\n\n o'clock\t\r\n — “naïve” 12345 👩‍👩‍👧 ’re 的 __proto__ constructor <unk> aaaaaaa \uFEFF\u0000 \u00ad ÿ"

let book: string
let tokenizers: Map<string, Tokenizer>

beforeAll(async () => {
  book = await loadBookInNode()
  const text = `${book.slice(0, 300_000)}${TRICKY.repeat(3)}`
  tokenizers = new Map([
    ['byte', byteTokenizer()],
    ['char', charTokenizer(text)],
    ['bpe', bpeTokenizer(await trainBpe(text, 700))],
  ])
})

function named(name: string): Tokenizer {
  const tokenizer = tokenizers.get(name)
  if (!tokenizer) throw new Error(`no tokenizer ${name}`)
  return tokenizer
}

/** As a reader of the exported folder has it. */
function reread(tokenizer: Tokenizer): Tokenizer {
  return tokenizerFromJson(JSON.parse(JSON.stringify(tokenizer.files(64))))
}

/** Well-formed text, often of the characters that a regular expression or an object treats specially. */
const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(' ', '\n', "'", 's', 'a', 'é', '的', '👩‍👧', '\uFFFD', '1', '<', 'unk', '>', '\u0000', '\u2028') }),
)

describe.each(['byte', 'char', 'bpe'])('the %s tokenizer', (name) => {
  it('gives the same ids when its tokenizer.json is read by @huggingface/tokenizers', () => {
    const again = reread(named(name))
    expect(again.vocabSize).toBe(named(name).vocabSize)
    for (const text of [book.slice(0, 50_000), book.slice(900_000, 910_000), TRICKY, '\n', ' ']) {
      expect(again.encode(text)).toEqual(named(name).encode(text))
      expect(again.decode(named(name).encode(text))).toBe(named(name).decode(named(name).encode(text)))
    }
  })

  it('gives the same ids on any text', () => {
    const again = reread(named(name))
    fc.assert(
      fc.property(anyText, (text) => {
        const ids = named(name).encode(text)
        expect(again.encode(text)).toEqual(ids)
        expect(again.decode(ids)).toBe(named(name).decode(ids))
      }),
      { numRuns: 500 },
    )
  })

  it('gives back what it has learned from', () => {
    for (const text of [book.slice(0, 300_000), TRICKY, '']) {
      const ids = named(name).encode(text)
      expect(named(name).decode(ids)).toBe(text)
      expect(ids.every((id) => id < named(name).vocabSize)).toBe(true)
    }
  })

  it('decodes ids that are no text or not in the vocabulary', () => {
    expect(typeof named(name).decode([0, 255, 128, 1_000_000])).toBe('string')
    expect(named(name).decode([])).toBe('')
    expect(reread(named(name)).decode([])).toBe('')
  })

  it('says how long an input may be', () => {
    expect(named(name).files(64)?.['tokenizer_config.json']).toMatchObject({ model_max_length: 64, clean_up_tokenization_spaces: false })
  })
})

describe.each(['byte', 'bpe'])('the %s tokenizer', (name) => {
  it('gives back any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(named(name).decode(named(name).encode(text))).toBe(text)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the char tokenizer', () => {
  it('knows the characters of the text in order, and one for all others', () => {
    const tokenizer = charTokenizer('banana\n👩')
    expect(tokenizer.vocabSize).toBe(6)
    expect([...tokenizer.encode('\nabn👩x')]).toEqual([0, 1, 2, 3, 4, 5])
    expect(tokenizer.decode([1, 5, 9])).toBe('a\uFFFD\uFFFD')
  })

  it('takes half a character for an unknown one', () => {
    const tokenizer = charTokenizer('a\ud83db')
    expect(tokenizer.vocabSize).toBe(3)
    expect([...tokenizer.encode('a\ud83db')]).toEqual([0, 2, 1])
  })

  it('has 84 tokens for the book', () => {
    expect(charTokenizer(book).vocabSize).toBe(84)
  })
})

describe('buildTokenizer', () => {
  it('builds what the options ask for', async () => {
    for (const tokenizer of ['byte', 'char', 'bpe'] as const) {
      expect((await buildTokenizer({ tokenizer, vocab_size: 300 }, book.slice(0, 5_000))).kind).toBe(tokenizer)
    }
  })

  it('starts samples on a new line when there is no prompt', () => {
    expect(promptIds(byteTokenizer(), { sample_prompt: '' })).toEqual([10])
    expect(promptIds(byteTokenizer(), { sample_prompt: 'Ab' })).toEqual([65, 98])
  })
})

describe('tokenizerFromJson', () => {
  it('says what is wrong with a file that is no tokenizer', () => {
    expect(() => tokenizerFromJson({ 'tokenizer.json': {}, 'tokenizer_config.json': {} })).toThrow(/^Cannot read tokenizer.json: .* need a file of Hugging Face's tokenizers$/)
  })
})
