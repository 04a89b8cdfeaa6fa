import type { MicroBatchPlan } from '../protocol/update-plan.ts'

/** Rows and tokens of every micro-batch on a device. */
export interface BatchShape {
  readonly batch: number
  readonly length: number
  /** Whether micro-batches have `starts`: their kernels are others. */
  readonly packed?: boolean
}

/** Both [batch, length]; labels are the ids, not shifted, or -100. Missing rows are padded with labels of -100. */
export interface MicroBatch {
  readonly ids: Uint32Array<ArrayBuffer>
  readonly labels: Int32Array<ArrayBuffer>
  /**
   * [batch, length]: for each token the position in its row at which its document starts; null where every row is one document
   * from 0. Tokens see only their own document, and the first of each is not predicted, whatever its label.
   */
  readonly starts: Uint32Array<ArrayBuffer> | null
  /** [batch, 2], as in `TokenBatch`; missing where nothing is dropped. */
  readonly dropoutKeys?: Uint32Array<ArrayBuffer> | null
}

/** Samples by index, in the device shape. */
export type BatchSource = (samples: MicroBatchPlan) => MicroBatch
