import type { CorpusFacts } from '../protocol/room-messages.ts'

/** One sample; the arrays are as long as its tokens, which is at most the corpus's row length. */
export interface CorpusRow {
  readonly ids: ArrayLike<number>
  /** One for each id and not shifted; -100 where nothing is to be predicted. */
  readonly labels: ArrayLike<number>
  /** For each token the position in the row at which its document starts; null when the row is one document. */
  readonly starts: ArrayLike<number> | null
}

/** Tokenised samples: those to train on first, those to evaluate on behind them. */
export interface Corpus {
  /** Tokens of a row on the device; shorter samples are padded behind their end. */
  readonly rowLength: number
  readonly numTrainSamples: number
  /** Their indices start at numTrainSamples. */
  readonly numValidationSamples: number
  /** Whether rows hold several documents each. */
  readonly packed: boolean
  /** @throws when there is no such sample. */
  row(sample: number): CorpusRow
  /** Prediction targets: labels[1:] that are not -100. */
  itemsOf(sample: number): number
  tokensOf(sample: number): number
  /** As they cross the wire, little-endian. */
  toBytes(): Uint8Array<ArrayBuffer>
  facts(): Promise<CorpusFacts>
}

/** @throws when `sample` is no index into the corpus. */
export function checkSample({ numTrainSamples, numValidationSamples }: Pick<Corpus, 'numTrainSamples' | 'numValidationSamples'>, sample: number): void {
  const samples = numTrainSamples + numValidationSamples
  if (!(Number.isSafeInteger(sample) && sample >= 0 && sample < samples)) throw new Error(`Cannot read sample ${sample}: need one from 0 to ${samples - 1}`)
}
