import type { Tokenizer } from './tokenizer.ts'

/** For data that is token ids already, without the tokenizer that made them: a text is its ids with blanks between. */
export function idsTokenizer(vocabSize: number): Tokenizer {
  return {
    kind: 'ids',
    vocabSize,
    prefix: [],
    encode: (text) => Uint32Array.from((text.match(/\d+/g) ?? []).map(Number).filter((id) => id < vocabSize)),
    decode: (ids) => Array.from(ids).join(' '),
    files: () => null,
  }
}
