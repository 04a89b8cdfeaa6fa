import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IGNORED_LABEL, makeBatch } from './batch.ts'
import { buildBlocks } from './block-corpus.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { loadBookInNode } from './book-node.ts'
import { corpusFromBytes } from './read-corpus.ts'

const digits = { vocabSize: 10, encode: (text: string) => Uint32Array.from(text, Number) }
const large = { vocabSize: 70_000, encode: (text: string) => Uint32Array.from(text, (character) => Number(character) + 69_000) }

describe('buildBlocks', () => {
  it('cuts blocks from both splits and drops what is left at their ends', () => {
    const corpus = buildBlocks('0123456789'.repeat(2), digits, { blockSize: 3, validationFraction: 0.35 })
    expect(corpus).toMatchObject({ numTrainSamples: 4, numValidationSamples: 2, rowLength: 3 })
    expect([...corpus.tokens]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 3, 4, 5, 6, 7, 8])
  })

  it('never lets a validation token into training', () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 2, max: 5 }), fc.double({ min: 0.3, max: 0.5, noNaN: true }), (length, blockSize, validationFraction) => {
        const tokenizer = { vocabSize: length, encode: () => Uint32Array.from({ length }, (_, index) => index) }
        const corpus = buildBlocks('', tokenizer, { blockSize, validationFraction })
        expect(new Set(corpus.tokens).size).toBe(corpus.tokens.length)
        const held = Math.floor(length * validationFraction)
        expect(corpus.tokens.subarray(0, corpus.numTrainSamples * blockSize).every((token) => token < length - held)).toBe(true)
        expect(corpus.tokens.subarray(corpus.numTrainSamples * blockSize).every((token) => token >= length - held)).toBe(true)
      }),
    )
  })

  it('says with numbers when a split is shorter than a window', () => {
    expect(() => buildBlocks('01234', digits, { blockSize: 64, validationFraction: 0.05 })).toThrow(
      'Cannot train on this text: that is 5 of 5 tokens, need at least one block of 64. Use a longer text or a smaller block_size',
    )
    expect(() => buildBlocks('0123456789'.repeat(10), digits, { blockSize: 64, validationFraction: 0.05 })).toThrow(
      'Cannot hold out 5 % of this text for validation: that is 5 of 100 tokens, need at least one block of 64.',
    )
  })

  it('makes some eighteen thousand samples of the book', async () => {
    const corpus = buildBlocks(await loadBookInNode(), byteTokenizer(), { blockSize: 64, validationFraction: 0.05 })
    expect(corpus.numTrainSamples).toBe(17_886)
    expect(corpus.numValidationSamples).toBe(941)
  })
})

describe('the wire form of a corpus', () => {
  it.each([
    [digits, 2],
    [large, 4],
  ] as const)('comes back equal', async (tokenizer, bytesPerToken) => {
    const corpus = buildBlocks('0123456789'.repeat(9), tokenizer, { blockSize: 4, validationFraction: 0.2 })
    const facts = await corpus.facts()
    expect(facts).toMatchObject({ bytesPerToken, trainTokens: 72, validationTokens: 16, bytes: 88 * bytesPerToken })
    expect(await corpusFromBytes(corpus.toBytes(), facts, 4)).toEqual(corpus)
  })

  it('is little-endian', () => {
    const corpus = buildBlocks('0123', { vocabSize: 300, encode: () => Uint32Array.of(258, 1, 2, 3) }, { blockSize: 2, validationFraction: 0.5 })
    expect([...corpus.toBytes()]).toEqual([2, 1, 1, 0, 2, 0, 3, 0])
  })

  it('is refused when it is not what the facts say', async () => {
    const corpus = buildBlocks('0123456789'.repeat(9), digits, { blockSize: 4, validationFraction: 0.2 })
    const [bytes, facts] = [corpus.toBytes(), await corpus.facts()]
    await expect(corpusFromBytes(bytes.slice(1), facts, 4)).rejects.toThrow('Cannot read the training data: it has 175 bytes, need 176')
    await expect(corpusFromBytes(bytes, facts, 5)).rejects.toThrow('176 bytes are not 72 + 16 tokens in blocks of 5')
    bytes[7] = 9
    await expect(corpusFromBytes(bytes, facts, 4)).rejects.toThrow(/^Cannot read the training data: its SHA-256 is [0-9a-f]{64}, need /)
  })
})

describe('makeBatch', () => {
  const corpus = buildBlocks('0123456789'.repeat(2), digits, { blockSize: 3, validationFraction: 0.35 })

  it('pads missing rows with labels that are ignored', () => {
    const { ids, labels, numItems } = makeBatch(corpus, [1, 5], 3)
    expect([...ids]).toEqual([3, 4, 5, 6, 7, 8, 0, 0, 0])
    expect([...labels]).toEqual([3, 4, 5, 6, 7, 8, IGNORED_LABEL, IGNORED_LABEL, IGNORED_LABEL])
    expect(numItems).toBe(4)
  })

  it('refuses samples that are not there, and more than fit', () => {
    expect(() => makeBatch(corpus, [6], 3)).toThrow('Cannot read sample 6: need one from 0 to 5')
    expect(() => makeBatch(corpus, [0, 1, 2, 3], 3)).toThrow('Cannot batch 4 samples: need at most 3')
  })
})
