/** What the coordinator decides about one update, before any rank computes it. */

/** One micro-batch: indices of training samples (rows); fewer rows than the device batch are padded with ignored labels. */
export type MicroBatchPlan = readonly number[]

export interface UpdatePlan {
  readonly generation: number
  /** 0-based number of the window in the sample order; skipped windows count. */
  readonly update: number
  /** Per rank, in ring order: its micro-batches (may be none). Gradients stay local until a rank's last one. */
  readonly microBatches: readonly (readonly MicroBatchPlan[])[]
  /** Prediction targets in the whole window, counted on labels[1:]; ranks count again and must agree (U4). */
  readonly numItems: number
  /** Tokens of its samples, without padding. */
  readonly numTokens: number
  /** Epoch after this update, as the Trainer logs it. */
  readonly epoch: number
  /** Whether ranks report a hash of parameters and optimizer state after the commit (U6). */
  readonly hash: boolean
}

/** What one rank says after an update; every field but `times` and `bytes` is the same on all ranks. */
export interface UpdateReport {
  readonly generation: number
  readonly update: number
  readonly outcome: 'committed' | 'skipped-non-finite' | 'skipped-no-items'
  /** Sum of the target losses of the window over all ranks, in nats. */
  readonly lossSum: number
  readonly numItems: number
  /** Norm of the scaled gradient before clipping. */
  readonly gradNorm: number
  /** The rate this update used, or would have used: it follows the committed updates, so ranks work it out (U5). */
  readonly learningRate: number
  /** Optimizer steps taken so far, this update included. */
  readonly committed: number
  /** Tokens this rank computed in the window. */
  readonly tokens: number
  readonly times: UpdateTimes
  readonly bytesSent: number
  /** Hex SHA-256 over parameters and moments; only when the plan asked. */
  readonly stateHash?: string
}

/** Milliseconds of one update on one rank. */
export interface UpdateTimes {
  readonly totalMs: number
  /** Until the GPU finished forward and backward of the last micro-batch. */
  readonly computeMs: number
  /** From the end of compute to the last reduced bucket: sending, then the rest of it, waiting for others. */
  readonly sendMs: number
  readonly waitMs: number
  /** Norm, clip and optimizer step. */
  readonly stepMs: number
}
