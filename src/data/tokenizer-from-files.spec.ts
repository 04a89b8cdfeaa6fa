import { expect, it } from 'vitest'
import { tokenizerKind } from '../checkpoint/tokenizer-kind.ts'
import { buildTokenizer } from './build-tokenizer.ts'
import { tokenizerFromFiles } from './tokenizer-from-files.ts'

const TEXT = `Call me Ishmael. Some years ago, never mind how long precisely: having little or no money. 1 2 42 \u{1F40B} é\uFFFD\n`.repeat(20)

it.each(['byte', 'char', 'bpe'] as const)('a %s tokenizer comes back from its files, and is known by them', async (kind) => {
  const built = await buildTokenizer({ tokenizer: kind, vocab_size: 300 }, TEXT)
  const files = JSON.parse(JSON.stringify(built.files(64)))
  expect(tokenizerKind(files['tokenizer.json'])).toBe(kind)
  const read = tokenizerFromFiles(kind, files)
  expect(read.vocabSize).toBe(built.vocabSize)
  expect(read.encode(`${TEXT} and ß`)).toEqual(built.encode(`${TEXT} and ß`))
  expect(read.files(64)).toEqual(files)
})

it('another tokenizer.json is refused, also one that differs in a token only', async () => {
  const files = JSON.parse(JSON.stringify((await buildTokenizer({ tokenizer: 'char', vocab_size: 300 }, TEXT)).files(64)))
  expect(() => tokenizerFromFiles('byte', files)).toThrow('Cannot use tokenizer.json: it is not what Tabring writes for byte tokens, need a file of its own')
  files['tokenizer.json'].model.vocab['C'] = 3
  expect(() => tokenizerFromFiles('char', files)).toThrow('not what Tabring writes for char tokens')
  files['tokenizer.json'].added_tokens = [{ id: 0, content: '<|endoftext|>' }]
  expect(tokenizerKind(files['tokenizer.json'])).toBeNull()
  expect(tokenizerKind({ model: { type: 'WordPiece' } })).toBeNull()
})
