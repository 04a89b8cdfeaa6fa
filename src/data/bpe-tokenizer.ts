import { BYTE_CHARACTERS, byteLevelFiles, decodeUtf8, GPT2_PATTERN } from './byte-level.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Tokenizer } from './tokenizer.ts'

/** Two tokens that become one; rank is the place in the list. */
export interface BpeMerge {
  readonly left: number
  readonly right: number
  readonly merged: number
}

/** Ids stay below this, so that a pair of them is one number. */
export const MAX_VOCABULARY = 65_536

/** Texts repeat their words: so many of them keep their ids. */
const CACHED_WORDS = 100_000

/**
 * Byte-level BPE as GPT-2's: ids 0 to 255 are the bytes, the others come from `merges`. Two merges may give the same bytes; they then
 * share one id, since tokenizer.json knows tokens by their bytes.
 */
export function bpeTokenizer(merges: readonly BpeMerge[]): Tokenizer {
  const tokens = tokenCharacters(merges)
  const bytes = tokens.map((token) => Uint8Array.from(token, (character) => BYTE_CHARACTERS.indexOf(character)))
  const rules = new Map(merges.map((merge, rank) => [pairKey(merge.left, merge.right), { rank, merged: merge.merged }]))
  const cache = new Map<string, Uint32Array>()
  const encodeWord = (word: string): Uint32Array => {
    const known = cache.get(word)
    if (known) return known
    const ids = applyMerges(new TextEncoder().encode(word), rules)
    if (cache.size >= CACHED_WORDS) cache.clear()
    cache.set(word, ids)
    return ids
  }
  return {
    kind: 'bpe',
    vocabSize: tokens.length,
    prefix: [],
    encode: (text) => encodeText(text, encodeWord),
    decode: (ids) => decodeUtf8(joined(Array.from(ids, (id) => bytes[id] ?? INVALID))),
    files: (modelMaxLength) =>
      byteLevelFiles(
        tokens,
        merges.map(({ left, right }) => [tokens[left] ?? '', tokens[right] ?? '']),
        modelMaxLength,
      ),
  }
}

/** A byte that is never UTF-8: an id outside the vocabulary decodes to U+FFFD. */
const INVALID = Uint8Array.of(0xff)

export function pairKey(left: number, right: number): number {
  return left * MAX_VOCABULARY + right
}

/** Each token's bytes as GPT-2's printable characters, by id. */
function tokenCharacters(merges: readonly BpeMerge[]): string[] {
  const tokens = [...BYTE_CHARACTERS]
  for (const { left, right, merged } of merges) {
    const token = `${tokens[left] ?? ''}${tokens[right] ?? ''}`
    if (merged > tokens.length || (tokens[merged] ?? token) !== token) throw new Error(`Cannot use merge of ${left} and ${right} as ${merged}: ids must follow each other`)
    tokens[merged] = token
  }
  return tokens
}

function encodeText(text: string, encodeWord: (word: string) => Uint32Array): Uint32Array<ArrayBuffer> {
  const encoded = new Uint32Array(new TextEncoder().encode(text).length) // at most one id for each byte
  let length = 0
  for (const [word] of text.matchAll(GPT2_PATTERN)) {
    const ids = encodeWord(word)
    encoded.set(ids, length)
    length += ids.length
  }
  return encoded.slice(0, length)
}

interface Candidate {
  readonly rank: number
  readonly at: number
  readonly left: number
  readonly right: number
  readonly merged: number
}

/** Merges the pair of lowest rank, the leftmost of equals, until none is left. A queue keeps long words below quadratic time. */
function applyMerges(bytes: Uint8Array, rules: ReadonlyMap<number, { readonly rank: number; readonly merged: number }>): Uint32Array {
  const GONE = -1
  const ids = Array.from(bytes)
  const next = ids.map((_, at) => at + 1)
  const previous = ids.map((_, at) => at - 1)
  const queue = new PriorityQueue<Candidate>((a, b) => a.rank < b.rank || (a.rank === b.rank && a.at < b.at))
  const offer = (at: number): void => {
    const left = ids[at]
    const right = ids[next[at] ?? ids.length]
    if (left === undefined || right === undefined) return
    const rule = rules.get(pairKey(left, right))
    if (rule) queue.push({ rank: rule.rank, merged: rule.merged, at, left, right })
  }
  for (let at = 0; at < ids.length; at++) offer(at)
  for (let best = queue.pop(); best; best = queue.pop()) {
    const second = next[best.at] ?? ids.length
    if (ids[best.at] !== best.left || ids[second] !== best.right) continue // an earlier merge took one of them
    const after = next[second] ?? ids.length
    ids[best.at] = best.merged
    ids[second] = GONE
    next[best.at] = after
    if (after < ids.length) previous[after] = best.at
    offer(best.at)
    const before = previous[best.at] ?? GONE
    if (before >= 0) offer(before)
  }
  return Uint32Array.from(ids.filter((id) => id !== GONE))
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}
