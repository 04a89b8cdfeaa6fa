import * as v from 'valibot'
import type { EvaluationRecord, StepRecord } from '../protocol/step-record.ts'

/** training_state.json of a checkpoint: with weights and moments, all that a run goes on from. */
export interface RunState {
  readonly version: 2
  /** Optimizer steps taken; the learning-rate schedule follows them. */
  readonly committed: number
  /** Windows of the sample order that are done, skipped ones included. */
  readonly update: number
  readonly lr_scheduler: SchedulerState
  /** Of the tokens that it was trained on, as they cross the wire. */
  readonly corpus_sha256: string
  readonly records: readonly StepRecord[]
  readonly evaluations: readonly EvaluationRecord[]
}

export interface SchedulerState {
  readonly type: string
  readonly total_steps: number
  /** Committed updates, as torch's schedulers call them. */
  readonly last_epoch: number
  /** Of the last update. */
  readonly last_lr: number
}

export const RUN_STATE_FILE = 'training_state.json'

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** JSON has no NaN: the loss of a skipped update. */
const reading = v.pipe(
  v.nullable(v.number()),
  v.transform((value) => value ?? Number.NaN),
)

const stepRecord = v.object({
  step: count,
  loss: reading,
  grad_norm: reading,
  learning_rate: v.number(),
  epoch: v.number(),
  num_items: count,
  num_samples: count,
  num_tokens: count,
  outcome: v.picklist(['committed', 'skipped-non-finite', 'skipped-no-items']),
  ranks: count,
  tokens_per_second: v.number(),
  elapsed_ms: v.number(),
  state_hash: v.exactOptional(v.string()),
})

const runState = v.object({
  version: v.literal(2),
  committed: count,
  update: count,
  lr_scheduler: v.object({ type: v.string(), total_steps: count, last_epoch: count, last_lr: v.number() }),
  corpus_sha256: v.string(),
  records: v.array(stepRecord),
  evaluations: v.array(v.object({ step: count, epoch: v.number(), eval_loss: reading, eval_items: count, eval_runtime: v.number() })),
}) satisfies v.GenericSchema<unknown, RunState>

/** @throws with the first field that is wrong, and when the counters contradict the records. */
export function parseRunState(json: unknown): RunState {
  const parsed = v.safeParse(runState, json)
  if (!parsed.success) {
    const [issue] = parsed.issues
    const at = issue.path?.map(({ key }) => String(key)).join('.') ?? 'it'
    throw new Error(`Cannot read ${RUN_STATE_FILE}: ${at} is ${issue.received}, need ${issue.expected ?? 'another value'}`)
  }
  const { records, update, committed } = parsed.output
  const stepped = records.filter(({ outcome }) => outcome === 'committed').length
  if (records.length !== update || stepped !== committed) {
    throw new Error(`Cannot read ${RUN_STATE_FILE}: it counts ${update} windows and ${committed} updates, its records ${records.length} and ${stepped}, need the same`)
  }
  return parsed.output
}
