import type { Corpus } from './corpus.ts'

/** Labels of this value are not predicted; as torch's `ignore_index`. */
export const IGNORED_LABEL = -100

/** One micro-batch in the fixed shape of the device; rows beyond the samples have ignored labels only. */
export interface Batch {
  /** [rows, blockSize] */
  readonly ids: Uint32Array<ArrayBuffer>
  /** [rows, blockSize], one for each id and not shifted: the loss does that. */
  readonly labels: Int32Array<ArrayBuffer>
  /** [rows, blockSize]: where in the row each token's document starts; null where every row is one document from 0. */
  readonly starts: Uint32Array<ArrayBuffer> | null
  /** Labels that will be predicted: all but each document's first and the ignored ones. */
  readonly numItems: number
}

export interface BatchShape {
  readonly rows: number
  readonly blockSize: number
}

/** The samples of these indices; every id is its own label. */
export function makeBatch(corpus: Corpus, sampleIndices: readonly number[], rows: number): Batch {
  const { tokens, blockSize, numTrainSamples, numValidationSamples } = corpus
  const batch = emptyBatch({ rows, blockSize }, sampleIndices.length)
  const samples = numTrainSamples + numValidationSamples
  for (const [row, index] of sampleIndices.entries()) {
    if (!(Number.isSafeInteger(index) && index >= 0 && index < samples)) throw new Error(`Cannot read sample ${index}: need one from 0 to ${samples - 1}`)
    const sample = tokens.subarray(index * blockSize, (index + 1) * blockSize)
    batch.ids.set(sample, row * blockSize)
    batch.labels.set(sample, row * blockSize)
  }
  return { ...batch, numItems: sampleIndices.length * (blockSize - 1) }
}

/** inputIds, labels: at most `rows` rows of `blockSize`. */
export function makeBatchFromRows(inputIds: readonly (readonly number[])[], labels: readonly (readonly number[])[], shape: BatchShape): Batch {
  const { rows, blockSize } = shape
  const batch = emptyBatch({ rows, blockSize }, inputIds.length)
  let numItems = 0
  for (const [row, ids] of inputIds.entries()) {
    const rowLabels = labels[row] ?? []
    if (ids.length !== blockSize || rowLabels.length !== blockSize) {
      throw new Error(`Cannot batch row ${row}: it has ${ids.length} ids and ${rowLabels.length} labels, need ${blockSize} of each`)
    }
    batch.ids.set(ids, row * blockSize)
    batch.labels.set(rowLabels, row * blockSize)
    numItems += rowLabels.slice(1).filter((label) => label !== IGNORED_LABEL).length
  }
  return { ...batch, numItems }
}

function emptyBatch({ rows, blockSize }: BatchShape, samples: number): Omit<Batch, 'numItems'> {
  if (samples > rows) throw new Error(`Cannot batch ${samples} samples: need at most ${rows}`)
  return { ids: new Uint32Array(rows * blockSize), labels: new Int32Array(rows * blockSize).fill(IGNORED_LABEL), starts: null }
}
