import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import type { Tokenizer, TokenizerFiles } from './tokenizer.ts'

/** The one door to @huggingface/tokenizers: reads any tokenizer.json that it can, ours among them. */
export function tokenizerFromJson(files: TokenizerFiles): Tokenizer {
  const tokenizer = open(files)
  return {
    kind: 'file',
    vocabSize: tokenizer.get_vocab().size,
    encode: (text) => Uint32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids),
    // The package refuses an empty list.
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode(Array.from(ids), { clean_up_tokenization_spaces: false })),
    files: () => files,
  }
}

function open(files: TokenizerFiles): HuggingFaceTokenizer {
  try {
    return new HuggingFaceTokenizer(files['tokenizer.json'], files['tokenizer_config.json'])
  } catch (cause) {
    throw new Error(`Cannot read tokenizer.json: ${cause instanceof Error ? cause.message : String(cause)}, need a file of Hugging Face's tokenizers`, { cause })
  }
}
