/** The one record of a finished update: the log line, the charts, the exported trainer_state and the tests read it. */
export interface StepRecord {
  /** 1-based, as the Trainer's global_step. Counts committed updates only. */
  readonly step: number
  /** Mean loss per target of this update's window, in nats. */
  readonly loss: number
  /** Before clipping. */
  readonly grad_norm: number
  /** The rate this update used. */
  readonly learning_rate: number
  readonly epoch: number
  readonly num_items: number
  readonly num_samples: number
  /** Without padding. */
  readonly num_tokens: number
  readonly outcome: 'committed' | 'skipped-non-finite' | 'skipped-no-items'
  readonly ranks: number
  /** Tokens per second of the whole room over this update. */
  readonly tokens_per_second: number
  /** Milliseconds since the run started, at the end of this update. */
  readonly elapsed_ms: number
  /** Hex SHA-256 of parameters and optimizer state, equal on all ranks; on updates that hash_every asks for. */
  readonly state_hash?: string
}

export interface EvaluationRecord {
  readonly step: number
  readonly epoch: number
  /** Mean loss per target over the whole validation split, in nats. */
  readonly eval_loss: number
  readonly eval_items: number
  readonly eval_runtime: number
}

export interface TextSample {
  readonly step: number
  readonly prompt: string
  readonly text: string
}
