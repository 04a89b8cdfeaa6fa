import { randomBlock, streamOf } from '../base/random.ts'

const STREAM = streamOf('dropout')

export interface DropoutWindow {
  readonly seed: number
  readonly update: number
  /** Of a micro-batch on the device. */
  readonly rows: number
}

/**
 * Two words for each row of a micro-batch, [rows, 2]: a function of seed, update and sample alone, so that the result does not depend on which
 * rank computes it (U1). Rows without a sample have zeros.
 */
export function dropoutKeys(samples: readonly number[], { seed, update, rows }: DropoutWindow): Uint32Array<ArrayBuffer> {
  const keys = new Uint32Array(2 * rows)
  const words = new Uint32Array(4)
  // An update's own stream, and in it the sample's block.
  const stream = (randomBlock(words, seed, { stream: STREAM, counter: update })[0] ?? 0) >>> 0
  for (const [row, sample] of samples.entries()) {
    randomBlock(words, seed, { stream, counter: sample })
    keys.set(words.subarray(0, 2), 2 * row)
  }
  return keys
}
