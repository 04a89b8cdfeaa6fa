import type { TokenizerFiles } from './tokenizer.ts'

/**
 * GPT-2's printable stand-ins for bytes (openai/gpt-2, src/encoder.py, bytes_to_unicode): printable Latin-1 stands for itself, the
 * others follow from U+0100 on. Element b is the character of byte b.
 */
export const BYTE_CHARACTERS: readonly string[] = byteCharacters()

function byteCharacters(): string[] {
  const printable = (byte: number): boolean => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
}

/** GPT-2's pre-tokenizer: what no merge may cross. Covers every character of a text. */
export const GPT2_PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu

/** A tokenizer.json of byte-level BPE. `tokens` by id, each as stand-ins for its bytes; `merges` in order of rank. */
export function byteLevelFiles(tokens: readonly string[], merges: readonly (readonly [string, string])[], modelMaxLength: number): TokenizerFiles {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  return {
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: merges.map(([left, right]) => `${left} ${right}`),
      },
    },
    'tokenizer_config.json': tokenizerConfig(modelMaxLength),
  }
}

/** Without the clean-up of spaces, which would not give back the text. */
export function tokenizerConfig(modelMaxLength: number): Readonly<Record<string, unknown>> {
  return { tokenizer_class: 'PreTrainedTokenizerFast', clean_up_tokenization_spaces: false, model_max_length: modelMaxLength }
}

/** UTF-8 that keeps a byte order mark, since it is a character of the text here. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}
