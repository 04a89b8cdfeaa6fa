import { BYTE_CHARACTERS, byteLevelFiles, decodeUtf8 } from './byte-level.ts'
import type { Tokenizer } from './tokenizer.ts'

/** A token is a byte of UTF-8; its id is the byte. */
export function byteTokenizer(): Tokenizer {
  return {
    kind: 'byte',
    vocabSize: 256,
    prefix: [],
    encode: (text) => Uint32Array.from(new TextEncoder().encode(text)),
    decode: (ids) => decodeUtf8(Uint8Array.from(ids)),
    files: (modelMaxLength) => byteLevelFiles(BYTE_CHARACTERS, [], modelMaxLength),
  }
}
