import { type BpeMerge, MAX_VOCABULARY, pairKey } from './bpe-tokenizer.ts'
import { BYTE_CHARACTERS, GPT2_PATTERN } from './byte-level.ts'
import { PriorityQueue } from './priority-queue.ts'

export interface BpeTraining {
  /** Learned tokens so far, of those wanted. */
  readonly onProgress?: (done: number, total: number) => void
  readonly signal?: AbortSignal
}

/** A page that works so long at a stretch still feels alive. */
const SLICE_MS = 20
/** A pair that occurs once saves nothing on other texts. */
const MIN_COUNT = 2
/** Clocks are slow: looked at after so many words or merges. */
const CLOCK_EVERY = 64

/**
 * Learns byte-level BPE from a text: again and again the most frequent pair of neighbours becomes a token (ties: the lower ids), as in
 * Sennrich et al. 2016 and Hugging Face's BpeTrainer. Works in slices; learns fewer tokens when no pair is left that occurs twice.
 * @param vocabSize at least 256, the bytes.
 */
export async function trainBpe(text: string, vocabSize: number, { onProgress, signal }: BpeTraining = {}): Promise<BpeMerge[]> {
  if (!(vocabSize >= 256 && vocabSize <= MAX_VOCABULARY)) throw new Error(`Cannot train BPE of ${vocabSize} tokens: need 256 to ${MAX_VOCABULARY}`)
  const pause = slicer(signal)
  const trainer = new Trainer()
  for (const [word, count] of await countWords(text, pause)) trainer.add(word, count)
  trainer.begin()
  const total = vocabSize - 256
  while (trainer.learned < total && trainer.mergeNext()) {
    if (pause.due()) {
      onProgress?.(trainer.learned, total)
      await pause.wait()
    }
  }
  onProgress?.(trainer.learned, total)
  return trainer.merges
}

interface Slicer {
  due(): boolean
  wait(): Promise<void>
}

function slicer(signal: AbortSignal | undefined): Slicer {
  let calls = 0
  let started = performance.now()
  return {
    due: () => ++calls % CLOCK_EVERY === 0 && performance.now() - started > SLICE_MS,
    wait: async () => {
      await new Promise((resolve) => setTimeout(resolve, 0))
      signal?.throwIfAborted()
      started = performance.now()
    },
  }
}

async function countWords(text: string, pause: Slicer): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const [word] of text.matchAll(GPT2_PATTERN)) {
    counts.set(word, (counts.get(word) ?? 0) + 1)
    if (pause.due()) await pause.wait()
  }
  return counts
}

interface Pair {
  readonly left: number
  readonly right: number
  count: number
  /** Words that have, or had, the pair. */
  readonly words: Set<number>
}

interface Queued {
  readonly pair: Pair
  /** When it was queued; a pair whose count has changed since is queued again. */
  readonly count: number
}

/** Words as lists of ids with incremental counts of their pairs. */
class Trainer {
  readonly merges: BpeMerge[] = []
  readonly #words: { readonly ids: number[]; readonly count: number }[] = []
  readonly #pairs = new Map<number, Pair>()
  readonly #tokens = [...BYTE_CHARACTERS]
  readonly #idOfToken = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]))
  readonly #queue = new PriorityQueue<Queued>((a, b) => a.count > b.count || (a.count === b.count && pairKey(a.pair.left, a.pair.right) < pairKey(b.pair.left, b.pair.right)))
  #changed = new Set<Pair>()

  /** Tokens beyond the bytes. */
  get learned(): number {
    return this.#tokens.length - 256
  }

  add(word: string, count: number): void {
    const ids = Array.from(new TextEncoder().encode(word))
    this.#words.push({ ids, count })
    for (let at = 0; at + 1 < ids.length; at++) this.#change(ids[at], ids[at + 1], { word: this.#words.length - 1, by: count })
  }

  begin(): void {
    this.#queueChanged()
  }

  /** @returns false when no pair occurs often enough. */
  mergeNext(): boolean {
    for (let best = this.#queue.pop(); best; best = this.#queue.pop()) {
      const { pair } = best
      if (pair.count < MIN_COUNT) continue
      if (pair.count !== best.count) {
        this.#queue.push({ pair, count: pair.count })
        continue
      }
      this.#merge(pair)
      return true
    }
    return false
  }

  #merge(pair: Pair): void {
    const token = `${this.#tokens[pair.left] ?? ''}${this.#tokens[pair.right] ?? ''}`
    const merged = this.#idOfToken.get(token) ?? this.#tokens.length
    this.#tokens[merged] = token
    this.#idOfToken.set(token, merged)
    this.merges.push({ left: pair.left, right: pair.right, merged })
    for (const word of pair.words) this.#mergeInWord(word, pair, merged)
    this.#pairs.delete(pairKey(pair.left, pair.right))
    pair.count = 0
    this.#queueChanged()
  }

  #mergeInWord(word: number, { left, right }: Pair, merged: number): void {
    const entry = this.#words[word]
    if (!entry) return
    const { ids, count } = entry
    for (let at = 0; at + 1 < ids.length; at++) {
      if (ids[at] !== left || ids[at + 1] !== right) continue
      const less = { word, by: -count }
      const more = { word, by: count }
      if (at > 0) {
        this.#change(ids[at - 1], left, less)
        this.#change(ids[at - 1], merged, more)
      }
      if (at + 2 < ids.length) {
        this.#change(right, ids[at + 2], less)
        this.#change(merged, ids[at + 2], more)
      }
      ids.splice(at, 2, merged)
    }
  }

  #change(left: number | undefined, right: number | undefined, { word, by }: { readonly word: number; readonly by: number }): void {
    if (left === undefined || right === undefined) return
    const key = pairKey(left, right)
    let pair = this.#pairs.get(key)
    if (!pair) {
      pair = { left, right, count: 0, words: new Set() }
      this.#pairs.set(key, pair)
    }
    pair.count += by
    if (by <= 0) return
    pair.words.add(word)
    this.#changed.add(pair)
  }

  #queueChanged(): void {
    for (const pair of this.#changed) if (pair.count >= MIN_COUNT) this.#queue.push({ pair, count: pair.count })
    this.#changed = new Set()
  }
}
