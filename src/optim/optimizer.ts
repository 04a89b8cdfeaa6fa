import type { Storage } from '../engine/storage.ts'

export interface OptimizerStep {
  readonly learningRate: number
  /** What the summed gradients are multiplied by: 1 / num_items times the clip factor. */
  readonly gradientFactor: number
}

/** What an optimizer remembers of each parameter, laid out as the flat parameters. */
export interface OptimizerState {
  /** As torch's optimizers call it. */
  readonly name: string
  readonly storage: Storage
}

/** Updates the flat parameters in place from their summed gradients. */
export interface Optimizer {
  readonly state: readonly OptimizerState[]
  /** Optimizer steps taken. */
  committed: number
  /** Enqueues one step on the gradients as they stand. */
  step(step: OptimizerStep): void
  /** For `engine.compile`: the pipelines of a step, without stepping. */
  warm(): void
}
