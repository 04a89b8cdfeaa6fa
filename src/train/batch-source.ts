import type { MicroBatchPlan } from '../protocol/update-plan.ts'

/** Rows and tokens of every micro-batch on a device. */
export interface BatchShape {
  readonly batch: number
  readonly length: number
}

/** Both [batch, length]; labels are the ids, not shifted, or -100. Missing rows are padded with labels of -100. */
export interface MicroBatch {
  readonly ids: Uint32Array<ArrayBuffer>
  readonly labels: Int32Array<ArrayBuffer>
}

/** Samples by index, in the device shape. */
export type BatchSource = (samples: MicroBatchPlan) => MicroBatch
