import type { TrainingOptions } from '../protocol/options.ts'

/** Which of Tabring's tokenizers a tokenizer.json describes; null for another one. `buildTokenizer`'s files look like this. */
export function tokenizerKind(json: Readonly<Record<string, unknown>>): TrainingOptions['tokenizer'] | null {
  const { model, pre_tokenizer: cut, added_tokens: added } = json
  if (!isRecord(model) || !isRecord(cut) || model['type'] !== 'BPE' || !Array.isArray(model['merges'])) return null
  if (!Array.isArray(added) || added.length > 0) return null
  if (cut['type'] === 'ByteLevel') return model['merges'].length === 0 ? 'byte' : 'bpe'
  return cut['type'] === 'Split' && model['merges'].length === 0 ? 'char' : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
