import { tokenizerConfig } from './byte-level.ts'
import { REPLACEMENT, type Tokenizer, type TokenizerFiles } from './tokenizer.ts'

/**
 * A token is a Unicode character of `text`; ids follow the code points, and the last one is U+FFFD, which stands for characters
 * that the text lacks.
 */
export function charTokenizer(text: string): Tokenizer {
  const characters = [...new Set(text)].filter(isOrdinary).sort((a, b) => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0))
  characters.push(REPLACEMENT)
  const ids = new Map(characters.map((character, id) => [character, id]))
  const unknown = characters.length - 1
  return {
    kind: 'char',
    vocabSize: characters.length,
    prefix: [],
    encode: (given) => encodeCharacters(given, (character) => ids.get(character) ?? unknown),
    decode: (given) => Array.from(given, (id) => characters[id] ?? REPLACEMENT).join(''),
    files: (modelMaxLength) => characterFiles(characters, modelMaxLength),
  }
}

function isOrdinary(character: string): boolean {
  return character !== REPLACEMENT && !/\p{Surrogate}/u.test(character)
}

function encodeCharacters(text: string, idOf: (character: string) => number): Uint32Array<ArrayBuffer> {
  const encoded = new Uint32Array(text.length) // at most one id for each UTF-16 unit
  let length = 0
  for (const character of text) encoded[length++] = idOf(character)
  return encoded.slice(0, length)
}

/**
 * BPE without merges reads single characters. The unknown token is no added token: those are looked for in texts, and then a text
 * with the same letters would encode differently.
 */
function characterFiles(characters: readonly string[], modelMaxLength: number): TokenizerFiles {
  return {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [],
      normalizer: null,
      // Cuts the text into characters, so that no reader searches a whole book for merges.
      pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
      post_processor: null,
      decoder: { type: 'Fuse' },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: REPLACEMENT,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(characters.map((character, id) => [character, id])),
        merges: [],
      },
    },
    'tokenizer_config.json': { ...tokenizerConfig(modelMaxLength), unk_token: REPLACEMENT },
  }
}
