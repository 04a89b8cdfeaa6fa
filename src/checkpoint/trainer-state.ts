import type { TrainingOptions } from '../protocol/options.ts'
import type { EvaluationRecord, StepRecord } from '../protocol/step-record.ts'
import { logHistory, summaryEntry } from '../protocol/trainer-log.ts'

export interface RunSoFar {
  readonly options: TrainingOptions
  /** Updates that the whole run has. */
  readonly maxSteps: number
  readonly records: readonly StepRecord[]
  readonly evaluations: readonly EvaluationRecord[]
  /** A finished run has the Trainer's summary as its last entry. */
  readonly finished: boolean
}

/** trainer_state.json as the Hugging Face Trainer writes it. */
export function trainerStateJson({ options, maxSteps, records, evaluations, finished }: RunSoFar): Record<string, unknown> {
  const history = logHistory(records, evaluations, options)
  const summary = finished && records.length > 0 ? [summaryEntry(records)] : []
  return {
    best_global_step: null,
    best_metric: null,
    best_model_checkpoint: null,
    epoch: records.at(-1)?.epoch ?? 0,
    eval_steps: options.eval_steps ?? options.logging_steps,
    global_step: records.at(-1)?.step ?? 0,
    is_hyper_param_search: false,
    is_local_process_zero: true,
    is_world_process_zero: true,
    log_history: [...history, ...summary],
    logging_steps: options.logging_steps,
    max_steps: maxSteps,
    num_input_tokens_seen: records.reduce((sum, record) => sum + record.num_tokens, 0),
    num_train_epochs: Math.ceil(options.max_steps > 0 ? (records.at(-1)?.epoch ?? 0) : options.num_train_epochs),
    stateful_callbacks: {},
    total_flos: 0,
    train_batch_size: options.per_device_train_batch_size,
    trial_name: null,
    trial_params: null,
  }
}
