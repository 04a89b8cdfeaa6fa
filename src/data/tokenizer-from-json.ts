import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { tokenText } from './chat-template.ts'
import type { Tokenizer, TokenizerFiles } from './tokenizer.ts'

/** The one door to @huggingface/tokenizers: reads any tokenizer.json that it can, ours among them. */
export function tokenizerFromJson(files: TokenizerFiles): Tokenizer {
  const tokenizer = open(files)
  return {
    kind: 'file',
    vocabSize: highestId(tokenizer.get_vocab()) + 1,
    prefix: prefixOf(tokenizer, files),
    encode: (text) => Uint32Array.from(tokenizer.encode(text, { add_special_tokens: false }).ids),
    // The package refuses an empty list.
    decode: (ids) => (ids.length === 0 ? '' : tokenizer.decode(Array.from(ids), { clean_up_tokenization_spaces: false })),
    files: () => files,
  }
}

/** Vocabularies may have gaps. */
function highestId(vocabulary: ReadonlyMap<string, number>): number {
  let highest = -1
  for (const id of vocabulary.values()) highest = Math.max(highest, id)
  return highest
}

/** What the post-processor puts before a text; it may put an end behind it too. */
function prefixOf(tokenizer: HuggingFaceTokenizer, files: TokenizerFiles): number[] {
  const end = tokenText(files['tokenizer_config.json']['eos_token'])
  const { ids } = tokenizer.encode('', { add_special_tokens: true })
  return end !== null && ids.at(-1) === tokenizer.token_to_id(end) ? ids.slice(0, -1) : ids
}

function open(files: TokenizerFiles): HuggingFaceTokenizer {
  try {
    return new HuggingFaceTokenizer(files['tokenizer.json'], files['tokenizer_config.json'])
  } catch (cause) {
    throw new Error(`Cannot read tokenizer.json: ${cause instanceof Error ? cause.message : String(cause)}, need a file of Hugging Face's tokenizers`, { cause })
  }
}
