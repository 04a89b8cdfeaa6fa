import type { Ring } from '../collectives/ring.ts'
import { makeBatch } from '../data/batch.ts'
import type { Corpus } from '../data/corpus.ts'
import { corpusFromBytes } from '../data/read-corpus.ts'
import { globalBatchSize, totalUpdates, updatesPerEpoch } from '../data/sample-order.ts'
import type { Engine } from '../engine/engine.ts'
import { createModel, modelConfig } from '../nn/models/families.ts'
import { checkFits } from '../nn/models/memory.ts'
import { createOptimizer } from '../optim/create-optimizer.ts'
import { GradNorm } from '../optim/grad-norm.ts'
import { type Schedule, learningRate, warmupSteps } from '../optim/schedule.ts'
import { frozenDigest, stateHash } from '../optim/state-hash.ts'
import { readTrainingState, writeTrainingState } from '../optim/training-state.ts'
import { GradientSync } from '../parallel/ddp.ts'
import { type TrainingOptions, parseOptions } from '../protocol/options.ts'
import type { ToRank } from '../protocol/room-messages.ts'
import type { UpdatePlan, UpdateReport } from '../protocol/update-plan.ts'
import { compileKernels } from '../train/compile.ts'
import { type Evaluation, evaluate } from '../train/evaluate.ts'
import { generate } from '../train/generate.ts'
import { LossSlots } from '../train/loss-slots.ts'
import { type Trainee, runUpdate } from '../train/update.ts'
import { fillModel, packModel } from './model-file.ts'
import { packOptimizer, restoreOptimizer } from './optimizer-file.ts'
import { trainingOf } from './training-of.ts'

type Prepare = Extract<ToRank, { type: 'prepare' }>
type Generate = Extract<ToRank, { type: 'generate' }>

/** One rank's copy of a run: model, optimizer, data and counters. */
export interface Replica {
  readonly ringDeadlineMs: number
  /** Windows done, skipped ones included: the next plan is for this one. */
  readonly nextUpdate: number
  update(plan: UpdatePlan, ring: Ring): Promise<UpdateReport>
  evaluate(microBatches: readonly (readonly number[])[]): Promise<Evaluation>
  generate(message: Generate): Promise<number[]>
  /** Optimizer steps taken. */
  readonly committed: number
  /** The parameters, or those of its adapters, as a safetensors file. */
  exportModel(): Promise<Uint8Array<ArrayBuffer>>
  /** The state as two safetensors files, from one moment. */
  checkpoint(): Promise<{ readonly model: Uint8Array<ArrayBuffer>; readonly optimizer: Uint8Array<ArrayBuffer> }>
  stateHash(): Promise<string>
  /** M4: everyone takes over rank `source`'s parameters, moments and counters; frozen ones came with the start, and the hash covers them. */
  broadcastState(ring: Ring, source: number): Promise<void>
  close(): void
}

/** What follows `prepare`; `model` and `optimizer` are null where the run does not start from them. */
export interface RunFiles {
  readonly corpus: Uint8Array<ArrayBuffer>
  readonly model: Uint8Array<ArrayBuffer> | null
  readonly optimizer: Uint8Array<ArrayBuffer> | null
}

/** Tells how far the set-up is: a phase's name, and so many of so many steps. */
export type OnProgress = (phase: string, done: number, total: number) => void

/**
 * Builds a run's replica from the coordinator's message and training tokens, and compiles its kernels.
 * @throws a sentence when options, config and data do not fit together, or the model does not fit the adapter.
 */
export async function createReplica(engine: Engine, message: Prepare, files: RunFiles, onProgress: OnProgress): Promise<Replica> {
  const options = parseOptions(message.options)
  const config = modelConfig(message.config)
  const corpus = await corpusFromBytes(files.corpus, message.corpus, options.block_size)
  const shape = { batch: options.per_device_train_batch_size, length: corpus.rowLength, packed: corpus.packed }
  const training = trainingOf(options)
  const problem = checkFits(config, shape, engine.device.limits, training)
  if (problem) throw new Error(problem)
  onProgress('Setting up the model', 0, 3)
  const model = createModel(engine, config, training)
  fillModel(model, config, { file: files.model, seed: options.seed })
  onProgress('Setting up the model', 1, 3)
  const trainee: Trainee = {
    engine,
    model,
    optimizer: createOptimizer(engine, model.parameters, options),
    norm: new GradNorm(engine, model.parameters),
    losses: new LossSlots(engine),
    sync: new GradientSync(engine, model.parameters, { capBytes: options.bucket_cap_mb * 1e6 }),
    source: (samples) => makeBatch(corpus, samples, shape.batch),
    shape,
    labelSmoothing: options.label_smoothing_factor,
    dropoutSeed: training.lora && training.lora.dropout > 0 ? options.seed : null,
    maxGradNorm: options.max_grad_norm,
  }
  if (files.optimizer) restoreOptimizer(trainee, files.optimizer)
  await compileKernels(trainee)
  onProgress('Setting up the model', 3, 3)
  const { initial } = message
  if (initial.from === 'checkpoint') trainee.optimizer.committed = initial.committed
  return new ModelReplica(trainee, options, { corpus, nextUpdate: initial.from === 'checkpoint' ? initial.update : 0 })
}

class ModelReplica implements Replica {
  readonly ringDeadlineMs: number
  nextUpdate: number
  readonly #trainee: Trainee
  readonly #options: TrainingOptions
  readonly #schedule: Schedule
  #frozen: Uint8Array | null = null

  constructor(trainee: Trainee, options: TrainingOptions, { corpus, nextUpdate }: { readonly corpus: Corpus; readonly nextUpdate: number }) {
    this.nextUpdate = nextUpdate
    this.#trainee = trainee
    this.#options = options
    this.#schedule = scheduleOf(options, corpus)
    this.ringDeadlineMs = options.ring_deadline_ms
  }

  get committed(): number {
    return this.#trainee.optimizer.committed
  }

  async update(plan: UpdatePlan, ring: Ring): Promise<UpdateReport> {
    if (plan.update !== this.nextUpdate) throw new Error(`Cannot compute update ${plan.update + 1}: this rank is at update ${this.nextUpdate + 1}`)
    const { optimizer } = this.#trainee
    const sentBefore = ring.bytesSent
    const report = await runUpdate(this.#trainee, ring, {
      update: plan.update,
      microBatches: plan.microBatches[ring.rank] ?? [],
      numItems: plan.numItems,
      learningRate: learningRate(this.#schedule, optimizer.committed),
    })
    this.nextUpdate = plan.update + 1
    const hash = plan.hash ? { stateHash: await this.stateHash() } : {}
    return { ...report, generation: plan.generation, bytesSent: ring.bytesSent - sentBefore, ...hash }
  }

  evaluate(microBatches: readonly (readonly number[])[]): Promise<Evaluation> {
    return evaluate(this.#trainee, microBatches)
  }

  generate({ prompt, tokens, temperature, topK, topP, seed }: Generate): Promise<number[]> {
    const { block_size: length } = this.#options
    // The last position of a training block has no target behind it, so what the model says there was never trained.
    return generate(this.#trainee.model, { prompt, tokens, temperature, topK, topP, seed, length, window: length - 1 })
  }

  exportModel(): Promise<Uint8Array<ArrayBuffer>> {
    return packModel(this.#trainee.model)
  }

  async checkpoint(): Promise<{ readonly model: Uint8Array<ArrayBuffer>; readonly optimizer: Uint8Array<ArrayBuffer> }> {
    const [model, optimizer] = await Promise.all([this.exportModel(), packOptimizer(this.#trainee)])
    return { model, optimizer }
  }

  async stateHash(): Promise<string> {
    const { engine, model, optimizer } = this.#trainee
    if (model.frozen) this.#frozen ??= await frozenDigest(engine, model.frozen)
    return stateHash(engine, model.parameters, optimizer, this.#frozen)
  }

  async broadcastState(ring: Ring, source: number): Promise<void> {
    const { engine, model, optimizer } = this.#trainee
    const state = await readTrainingState(engine, model.parameters, optimizer)
    const counters = Float64Array.of(state.committed, this.nextUpdate)
    const parts = [state.values, ...state.optimizer, counters]
    for (const [collective, part] of parts.entries()) {
      await ring.broadcast(new Uint8Array(part.buffer), source, { update: 0, collective })
    }
    writeTrainingState(engine, model.parameters, optimizer, { ...state, committed: counters[0] ?? 0 })
    this.nextUpdate = counters[1] ?? 0
  }

  close(): void {
    this.#trainee.engine.close()
  }
}

/** The rate follows committed updates, so that a skipped one does not advance it (U5). The coordinator has fixed global_batch_size. */
function scheduleOf(options: TrainingOptions, corpus: Corpus): Schedule {
  const totalSteps = totalUpdates(options, updatesPerEpoch(corpus.numTrainSamples, globalBatchSize(options, 1)))
  return { kind: options.lr_scheduler_type, peak: options.learning_rate, warmupSteps: warmupSteps(options, totalSteps), totalSteps }
}
