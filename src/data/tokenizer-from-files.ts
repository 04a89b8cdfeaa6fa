import type { TrainingOptions } from '../protocol/options.ts'
import { type BpeMerge, bpeTokenizer } from './bpe-tokenizer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { charTokenizer } from './char-tokenizer.ts'
import type { Tokenizer, TokenizerFiles } from './tokenizer.ts'
import { tokenizerFromJson } from './tokenizer-from-json.ts'

/**
 * The tokenizer of a model's folder. Those that Tabring wrote are read by its own code, others by Hugging Face's.
 * @throws when the file says of itself to be Tabring's and the tokenizer so made would not write it: then it would read texts in another way.
 */
export function tokenizerFromFiles(kind: TrainingOptions['tokenizer'], files: TokenizerFiles): Tokenizer {
  if (kind === 'file') return tokenizerFromJson(files)
  const given = files['tokenizer.json']
  const tokenizer = rebuild(kind, modelOf(given))
  if (JSON.stringify(tokenizer.files(0)?.['tokenizer.json']) !== JSON.stringify(given)) {
    throw new Error(`Cannot use tokenizer.json: it is not what Tabring writes for ${kind} tokens, need a file of its own`)
  }
  return tokenizer
}

interface BpeModel {
  readonly vocab: ReadonlyMap<string, number>
  readonly merges: readonly string[]
}

function modelOf(json: TokenizerFiles['tokenizer.json']): BpeModel {
  const model: Readonly<Record<string, unknown>> = Object(json['model'])
  const { vocab, merges } = model
  const tokens = Object.entries(Object(vocab)).map(([token, id]) => [token, Number(id)] as const)
  return { vocab: new Map(tokens), merges: Array.isArray(merges) ? merges.map(String) : [] }
}

function rebuild(kind: Exclude<TrainingOptions['tokenizer'], 'file'>, { vocab, merges }: BpeModel): Tokenizer {
  switch (kind) {
    case 'byte':
      return byteTokenizer()
    case 'char':
      return charTokenizer([...vocab.keys()].join(''))
    case 'bpe':
      return bpeTokenizer(merges.map((merge) => mergeOf(merge, vocab)))
    default:
      return kind satisfies never
  }
}

function mergeOf(merge: string, vocab: ReadonlyMap<string, number>): BpeMerge {
  const [left = '', right = ''] = merge.split(' ')
  const ids = [left, right, left + right].map((token) => vocab.get(token))
  const [leftId, rightId, merged] = ids
  if (leftId === undefined || rightId === undefined || merged === undefined)
    throw new Error(`Cannot use tokenizer.json: its merge ${JSON.stringify(merge)} is not in its vocabulary`)
  return { left: leftId, right: rightId, merged }
}
