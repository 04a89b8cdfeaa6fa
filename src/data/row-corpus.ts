import { sha256 } from '../base/sha256.ts'
import type { RowFacts } from '../protocol/room-messages.ts'
import { IGNORED_LABEL } from './batch.ts'
import { type Corpus, type CorpusRow, checkSample } from './corpus.ts'

/** Samples of their own lengths with labels of their own: fine-tuning data. */
export class RowCorpus implements Corpus {
  readonly rowLength: number
  readonly numTrainSamples: number
  readonly numValidationSamples: number
  readonly packed: boolean
  /** Where each sample begins, and the end of the last: [samples + 1]. */
  readonly #offsets: Uint32Array
  readonly #ids: Uint32Array
  readonly #labels: Int32Array
  readonly #starts: Uint32Array | null
  readonly #items: Uint32Array

  /** @throws when a row has not one label for each id, or only some rows are packed. */
  constructor(train: readonly CorpusRow[], validation: readonly CorpusRow[]) {
    const rows = [...train, ...validation]
    this.numTrainSamples = train.length
    this.numValidationSamples = validation.length
    this.rowLength = rows.reduce((longest, { ids }) => Math.max(longest, ids.length), 2)
    this.packed = rows.some(({ starts }) => starts !== null)
    const total = rows.reduce((sum, { ids }) => sum + ids.length, 0)
    this.#offsets = new Uint32Array(rows.length + 1)
    this.#ids = new Uint32Array(total)
    this.#labels = new Int32Array(total)
    this.#starts = this.packed ? new Uint32Array(total) : null
    this.#items = Uint32Array.from(rows, countTargets)
    let at = 0
    for (const [index, { ids, labels, starts }] of rows.entries()) {
      if (labels.length !== ids.length || (starts && starts.length !== ids.length))
        throw new Error(`Cannot use row ${index}: it has ${ids.length} ids and ${labels.length} labels, need as many`)
      this.#ids.set(ids, at)
      this.#labels.set(labels, at)
      if (starts) this.#starts?.set(starts, at)
      at += ids.length
      this.#offsets[index + 1] = at
    }
  }

  row(sample: number): CorpusRow {
    checkSample(this, sample)
    const [from, to] = [this.#offsets[sample], this.#offsets[sample + 1]]
    return { ids: this.#ids.subarray(from, to), labels: this.#labels.subarray(from, to), starts: this.#starts?.subarray(from, to) ?? null }
  }

  itemsOf(sample: number): number {
    return this.#items[sample] ?? 0
  }

  tokensOf(sample: number): number {
    return (this.#offsets[sample + 1] ?? 0) - (this.#offsets[sample] ?? 0)
  }

  /** u32 lengths of all samples, u32 ids, i32 labels, and when packed u32 starts. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const samples = this.numTrainSamples + this.numValidationSamples
    const lengths = Uint32Array.from({ length: samples }, (_, sample) => this.tokensOf(sample))
    const parts = [lengths, this.#ids, this.#labels, ...(this.#starts ? [this.#starts] : [])]
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0))
    const view = new DataView(bytes.buffer)
    let at = 0
    for (const part of parts) for (const value of part) view.setInt32((at += 4) - 4, value, true)
    return bytes
  }

  async facts(): Promise<RowFacts> {
    const bytes = this.toBytes()
    const { numTrainSamples, numValidationSamples, rowLength, packed } = this
    return {
      layout: 'rows',
      bytes: bytes.length,
      sha256: await sha256(bytes),
      trainSamples: numTrainSamples,
      validationSamples: numValidationSamples,
      tokens: this.#ids.length,
      rowLength,
      packed,
    }
  }
}

function countTargets({ labels }: CorpusRow): number {
  let items = 0
  for (let at = 1; at < labels.length; at++) if (labels[at] !== IGNORED_LABEL) items++
  return items
}

/** bytes: as `toBytes` gives them, already known to be as long and to have the hash that the facts say. @throws when they contradict each other. */
export function rowsFromBytes(bytes: Uint8Array<ArrayBuffer>, facts: RowFacts): RowCorpus {
  const { trainSamples, validationSamples, tokens, packed } = facts
  const samples = trainSamples + validationSamples
  if (bytes.length !== 4 * (samples + (packed ? 3 : 2) * tokens)) {
    throw new Error(`Cannot read the training data: ${bytes.length} bytes are not ${samples} samples with ${tokens} tokens`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const words = (from: number, length: number): Int32Array => Int32Array.from({ length }, (_, index) => view.getInt32((from + index) * 4, true))
  const lengths = words(0, samples)
  const ids = words(samples, tokens)
  const labels = words(samples + tokens, tokens)
  const starts = packed ? words(samples + 2 * tokens, tokens) : null
  let at = 0
  const rows = Array.from(lengths, (length) => {
    const from = at
    at += length
    return { ids: ids.subarray(from, at), labels: labels.subarray(from, at), starts: starts?.subarray(from, at) ?? null }
  })
  if (at !== tokens || lengths.some((length) => length < 0)) throw new Error(`Cannot read the training data: its samples have ${at} tokens, need ${tokens}`)
  return new RowCorpus(rows.slice(0, trainSamples), rows.slice(trainSamples))
}
