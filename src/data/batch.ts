import type { Corpus } from './corpus.ts'

/** Labels of this value are not predicted; as torch's `ignore_index`. */
export const IGNORED_LABEL = -100

/** One micro-batch in the fixed shape of the device; rows beyond the samples have ignored labels only. */
export interface Batch {
  /** [rows, rowLength] */
  readonly ids: Uint32Array<ArrayBuffer>
  /** [rows, rowLength], one for each id and not shifted: the loss does that. */
  readonly labels: Int32Array<ArrayBuffer>
  /** [rows, rowLength]: for each token the position in its row at which its document starts; null where every row is one document. */
  readonly starts: Uint32Array<ArrayBuffer> | null
  /** Labels that will be predicted: all but a row's first and the ignored ones. */
  readonly numItems: number
}

/** The samples of these indices. Short ones end in padding with ignored labels, which no token before it sees. */
export function makeBatch(corpus: Corpus, sampleIndices: readonly number[], rows: number): Batch {
  const { rowLength, packed } = corpus
  if (sampleIndices.length > rows) throw new Error(`Cannot batch ${sampleIndices.length} samples: need at most ${rows}`)
  const size = rows * rowLength
  const ids = new Uint32Array(size)
  const labels = new Int32Array(size).fill(IGNORED_LABEL)
  const starts = packed ? new Uint32Array(size) : null
  let numItems = 0
  for (const [row, index] of sampleIndices.entries()) {
    const sample = corpus.row(index)
    ids.set(sample.ids, row * rowLength)
    labels.set(sample.labels, row * rowLength)
    // Padding goes on with the last document.
    for (let at = 0; starts && at < rowLength; at++) starts[row * rowLength + at] = sample.starts?.[Math.min(at, sample.starts.length - 1)] ?? 0
    numItems += corpus.itemsOf(index)
  }
  return { ids, labels, starts, numItems }
}
