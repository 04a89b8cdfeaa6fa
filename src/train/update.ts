import type { Engine } from '../engine/engine.ts'
import type { CausalModel } from '../nn/model.ts'
import { clipFactor } from '../optim/clip.ts'
import type { GradNorm } from '../optim/grad-norm.ts'
import type { Optimizer } from '../optim/optimizer.ts'
import type { GradientSync, WindowSync } from '../parallel/ddp.ts'
import type { Reducer } from '../parallel/reducer.ts'
import type { MicroBatchPlan, UpdateReport } from '../protocol/update-plan.ts'
import type { BatchShape, BatchSource } from './batch-source.ts'
import { dropoutKeys } from './dropout-keys.ts'
import type { LossSlots } from './loss-slots.ts'
import { uploadMicroBatch } from './upload-micro-batch.ts'
import { countVotes, gatherVotes, type Vote } from './vote.ts'

/** What one rank trains with; made once for a run. */
export interface Trainee {
  readonly engine: Engine
  readonly model: CausalModel
  readonly optimizer: Optimizer
  readonly norm: GradNorm
  readonly losses: LossSlots
  readonly sync: GradientSync
  readonly source: BatchSource
  readonly shape: BatchShape
  /** Of the training loss; what is evaluated is not smoothed. */
  readonly labelSmoothing?: number
  /** Of what dropout draws; missing where nothing is dropped. */
  readonly dropoutSeed?: number | null
  /** 0 turns clipping off. */
  readonly maxGradNorm: number
}

/** One rank's part of an update. */
export interface Window {
  readonly update: number
  readonly microBatches: readonly MicroBatchPlan[]
  /** Targets in the whole window, on all ranks. */
  readonly numItems: number
  readonly learningRate: number
}

export type WindowReport = Omit<UpdateReport, 'generation' | 'bytesSent' | 'stateHash'>

/**
 * One update, from planned samples to the optimizer step or the common decision to skip it. Until that decision nothing but
 * gradients changes, so an update that rejects can be redone.
 * @throws when a rank failed, a count of items differs from the plan's, the ring broke, or `signal` aborts.
 */
export async function runUpdate(trainee: Trainee, reducer: Reducer, window: Window, signal?: AbortSignal): Promise<WindowReport> {
  const { engine, model, optimizer, losses, sync } = trainee
  const { update, microBatches, numItems, learningRate } = window
  const startedAt = performance.now()
  let computed = { at: startedAt, sendingMs: reducer.sendingMs }

  // Forward and backward: gradients and losses are sums, and stay on this rank until the last backward.
  engine.clear(model.parameters.gradients)
  losses.clear()
  const exchange = sync.begin(reducer, update)
  let items = 0
  let failure: unknown = null
  try {
    let previous: Promise<void> = Promise.resolve()
    for (const [index, samples] of microBatches.entries()) {
      signal?.throwIfAborted()
      items += enqueueMicroBatch(trainee, { update, samples, index }, index === microBatches.length - 1 ? exchange : null)
      await previous // at most two micro-batches are queued: an abort must not wait for a whole window
      previous = finished(engine, reducer).then((end) => void (computed = end))
    }
  } catch (cause) {
    engine.tape.clear()
    if (signal?.aborted) throw cause
    failure = cause
  }

  // Ring: one sum over ranks for each bucket, then what every rank must know to decide as the others do.
  await (failure ? exchange.finishWithZeros() : exchange.finish())
  const summedAt = performance.now()
  const sentMs = reducer.sendingMs
  const vote = await castVote(trainee, items, failure ?? exchange.failure)
  const votes = await gatherVotes(reducer, vote, { update, collective: exchange.collectives })
  const verdict = countVotes(votes, update)
  if (verdict.items !== numItems) throw new Error(`Cannot finish update ${update + 1}: the ranks counted ${verdict.items} targets, need ${numItems} as planned`)

  // Scale, norm, clip and step, or skip: the same on all ranks.
  const gradNorm = numItems === 0 ? 0 : verdict.finite ? Math.sqrt(verdict.sumSquares) / numItems : Number.NaN
  const outcome = numItems === 0 ? 'skipped-no-items' : verdict.finite ? 'committed' : 'skipped-non-finite'
  if (outcome === 'committed') optimizer.step({ learningRate, gradientFactor: clipFactor(gradNorm, trainee.maxGradNorm) / numItems })
  engine.flush()
  const endedAt = performance.now()

  const reducedAt = Math.max(summedAt, computed.at)
  const reduceMs = reducedAt - computed.at
  const sendMs = Math.max(0, Math.min(reduceMs, sentMs - computed.sendingMs))
  const times = {
    totalMs: endedAt - startedAt,
    computeMs: computed.at - startedAt,
    sendMs,
    waitMs: reduceMs - sendMs,
    stepMs: endedAt - reducedAt,
  }
  const tokens = microBatches.reduce((rows, samples) => rows + samples.length, 0) * trainee.shape.length
  return { update, outcome, lossSum: verdict.lossSum, numItems, gradNorm, learningRate, committed: optimizer.committed, tokens, times }
}

/** When the GPU has done what is queued. A lost device is not reported here but by the reads that follow. */
async function finished(engine: Engine, reducer: Reducer): Promise<{ readonly at: number; readonly sendingMs: number }> {
  await engine.idle().catch(() => {})
  return { at: performance.now(), sendingMs: reducer.sendingMs }
}

/** Forward and backward of one micro-batch; `last` hears of finished gradients when it is the window's last. Returns its targets. */
function enqueueMicroBatch(
  { engine, model, losses, source, shape, labelSmoothing: smoothing = 0, dropoutSeed: seed = null }: Trainee,
  { update, samples, index }: { readonly update: number; readonly samples: MicroBatchPlan; readonly index: number },
  last: WindowSync | null,
): number {
  using _scope = engine.scope()
  const keys = seed === null ? null : dropoutKeys(samples, { seed, update, rows: shape.batch })
  const { tokens, targets, items } = uploadMicroBatch(model, { ...source(samples), dropoutKeys: keys }, shape)
  const root = model.loss(tokens, targets, losses.of(index), { smoothing })
  engine.tape.backward(root, last ? (parameter) => last.ready(parameter.name) : undefined)
  return items
}

async function castVote({ norm, losses }: Trainee, items: number, failure: unknown): Promise<Vote> {
  const nothing = { items, lossSum: 0, sumSquares: 0, finite: false }
  if (failure) return { ...nothing, failure: messageOf(failure) }
  try {
    const [{ sumSquares, finite }, lossSum] = await Promise.all([norm.read(), losses.read()])
    return { items, lossSum, sumSquares, finite, failure: null }
  } catch (cause) {
    return { ...nothing, failure: messageOf(cause) }
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
