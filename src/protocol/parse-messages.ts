import * as v from 'valibot'
import type { FromRank, ToRank } from './room-messages.ts'

/**
 * The door for control messages (J6): what does not fit is dropped and counted by the caller, never trusted.
 * Limits keep a hostile message from taking memory or hanging a schema.
 */
const MAX_TEXT = 4_000
const MAX_MEMBERS = 1_024
const MAX_MICRO_BATCHES = 65_536
const MAX_ROWS = 4_096
const MAX_IDS = 1_000_000

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const text = v.pipe(v.string(), v.maxLength(MAX_TEXT))
const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))
const record = v.record(text, v.unknown())
const ids = v.pipe(v.array(count), v.maxLength(MAX_IDS))
const microBatch = v.pipe(v.array(count), v.maxLength(MAX_ROWS))
const microBatches = v.pipe(v.array(microBatch), v.maxLength(MAX_MICRO_BATCHES))
const member = v.object({ peer: text, name: text })
/** JSON has no NaN or infinity: a rank sends them as null, and they come back as NaN. */
const reading = v.pipe(
  v.nullable(v.number()),
  v.transform((value) => value ?? Number.NaN),
)

const plan = v.object({
  generation: count,
  update: count,
  microBatches: v.pipe(v.array(microBatches), v.maxLength(MAX_MEMBERS)),
  numItems: count,
  numTokens: count,
  epoch: v.pipe(v.number(), v.minValue(0)),
  hash: v.boolean(),
})

const corpus = v.variant('layout', [
  v.object({ layout: v.literal('blocks'), bytes: count, sha256: hash, bytesPerToken: v.union([v.literal(2), v.literal(4)]), trainTokens: count, validationTokens: count }),
  v.object({ layout: v.literal('rows'), bytes: count, sha256: hash, trainSamples: count, validationSamples: count, tokens: count, rowLength: count, packed: v.boolean() }),
])

const initial = v.variant('from', [
  v.object({ from: v.literal('seed') }),
  v.object({ from: v.literal('weights') }),
  v.object({ from: v.literal('checkpoint'), committed: count, update: count }),
])

const toRank = v.variant('type', [
  v.object({ type: v.literal('admitted'), rankName: text }),
  v.object({ type: v.literal('refused'), reason: text }),
  v.object({ type: v.literal('prepare'), run: text, options: record, config: record, corpus, initial }),
  v.object({ type: v.literal('form'), generation: count, members: v.pipe(v.array(member), v.maxLength(MAX_MEMBERS)) }),
  v.object({ type: v.literal('sync'), generation: count, source: count }),
  v.object({ type: v.literal('plan'), plan }),
  v.object({ type: v.literal('pause') }),
  v.object({ type: v.literal('abort'), generation: count, cause: text }),
  v.object({ type: v.literal('evaluate'), generation: count, id: count, microBatches }),
  v.object({
    type: v.literal('generate'),
    id: count,
    prompt: ids,
    tokens: count,
    temperature: v.pipe(v.number(), v.minValue(0)),
    topK: count,
    topP: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    seed: count,
  }),
  v.object({ type: v.literal('export'), id: count }),
  v.object({ type: v.literal('checkpoint'), generation: count, id: count, committed: v.nullable(count) }),
  v.object({ type: v.literal('finish'), summary: text }),
]) satisfies v.GenericSchema<unknown, ToRank>

const adapter = v.object({
  vendor: text,
  architecture: text,
  description: text,
  maxBindingBytes: count,
  maxBufferBytes: count,
  profile: v.union([v.literal('lane'), v.literal('shared')]),
})

const outcome = v.union([v.literal('committed'), v.literal('skipped-non-finite'), v.literal('skipped-no-items')])
const times = v.object({ totalMs: v.number(), computeMs: v.number(), sendMs: v.number(), waitMs: v.number(), stepMs: v.number() })

const report = v.object({
  generation: count,
  update: count,
  outcome,
  lossSum: reading,
  numItems: count,
  gradNorm: reading,
  learningRate: v.number(),
  committed: count,
  tokens: count,
  times,
  bytesSent: count,
  stateHash: v.exactOptional(hash),
})

const fromRank = v.variant('type', [
  v.object({ type: v.literal('hello'), protocol: count, build: text, name: text, browser: text, adapter, selfTest: v.object({ passed: v.boolean(), worstError: reading }) }),
  v.object({ type: v.literal('progress'), phase: text, done: count, total: count, unit: v.union([v.literal('bytes'), v.literal('items')]) }),
  v.object({ type: v.literal('prepared'), run: text }),
  v.object({ type: v.literal('formed'), generation: count, update: count, stateHash: hash }),
  v.object({ type: v.literal('synced'), generation: count, update: count, stateHash: hash }),
  v.object({ type: v.literal('report'), report }),
  v.object({ type: v.literal('evaluated'), id: count, lossSum: reading, items: count }),
  v.object({ type: v.literal('generated'), id: count, ids }),
  v.object({ type: v.literal('exported'), id: count, bytes: count }),
  v.object({ type: v.literal('checkpointed'), id: count, committed: count, taken: v.boolean() }),
  v.object({ type: v.literal('failed'), generation: v.nullable(count), update: v.nullable(count), cause: text, fatal: v.boolean() }),
  v.object({ type: v.literal('visibility'), hidden: v.boolean() }),
  v.object({ type: v.literal('leaving') }),
]) satisfies v.GenericSchema<unknown, FromRank>

/** @returns null for anything that is not a message of the coordinator. */
export function parseToRank(message: unknown): ToRank | null {
  const parsed = v.safeParse(toRank, message)
  return parsed.success ? parsed.output : null
}

/** @returns null for anything that is not a message of a rank. */
export function parseFromRank(message: unknown): FromRank | null {
  const parsed = v.safeParse(fromRank, message)
  return parsed.success ? parsed.output : null
}
