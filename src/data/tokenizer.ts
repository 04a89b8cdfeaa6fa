/** Between text and token ids. */
export interface Tokenizer {
  readonly kind: 'byte' | 'char' | 'bpe' | 'file' | 'ids'
  /** Ids are below it. */
  readonly vocabSize: number
  /** What a document starts with, such as a begin-of-text token; often nothing. */
  readonly prefix: readonly number[]
  /** Lone surrogates count as U+FFFD, the replacement character. */
  encode(text: string): Uint32Array<ArrayBuffer>
  /** Never throws: what is not text becomes U+FFFD. */
  decode(ids: ArrayLike<number>): string
  /** The files that Hugging Face's tokenizers read; `modelMaxLength` is the longest input of the model in tokens. Null where there are none. */
  files(modelMaxLength: number): TokenizerFiles | null
}

/** Parsed JSON of the two files of a Hugging Face folder. */
export interface TokenizerFiles {
  readonly 'tokenizer.json': Readonly<Record<string, unknown>>
  readonly 'tokenizer_config.json': Readonly<Record<string, unknown>>
}

/** Stands for a character that a vocabulary lacks, as in decoders of UTF-8. */
export const REPLACEMENT = '\uFFFD'
