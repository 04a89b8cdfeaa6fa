import { clipFactor } from '../optim/clip.ts'
import { newRunId, type TrackedValues } from '../protocol/tracker-records.ts'
import type { Tracker } from '../trackers/tracker.ts'
import { Tensor } from '../engine/tensor.ts'
import { BatchCursor } from './batch-cursor.ts'
import type { Loss } from './loss.ts'
import { measureNorm } from './measure-norm.ts'
import type { ModelSeat } from './model-seat.ts'
import { Module } from './module.ts'
import { type Preparable, type PreparedAll, Preparation } from './preparation.ts'
import { RandomSource } from './random-source.ts'
import { loadState, saveState } from './state-folder.ts'
import { Window, type WindowTotals } from './window.ts'
import type { World } from './world.ts'

export interface AcceleratorSettings {
  /** Micro-batches of a window. */
  readonly gradientAccumulationSteps?: number
  /** Of initial parameters and of `random`. */
  readonly seed?: number
  readonly logWith?: readonly Tracker[]
}

/** Whatever a model is asked for: one, several, or what only looks like one. */
type Models = Module | readonly Module[]

/**
 * A training loop's place among the ranks, after Hugging Face's Accelerate: the same script computes the same on one rank and on many.
 * Losses and gradients are sums; `multiplyGrads(numRanks / numItems)` on their mean over ranks makes the mean over all targets of the
 * window. Every rank calls the same methods in the same order.
 */
export class Accelerator {
  readonly world: World
  readonly gradientAccumulationSteps: number
  /** Random numbers of this rank that a saved state goes on with. */
  readonly random: RandomSource
  /** Inside `accumulate`: whether this micro-batch ends its window. Else true. */
  syncGradients = true
  readonly #cursor = new BatchCursor()
  readonly #window: Window
  readonly #preparation: Preparation
  readonly #trackers: readonly Tracker[]
  /** Models of the `accumulate` that is running; null for all. */
  #active: readonly ModelSeat[] | null = null
  #microBatches = 0
  #totals: WindowTotals = { numItems: 0, lossSum: 0 }

  constructor(world: World, { gradientAccumulationSteps = 1, seed = 0, logWith = [] }: AcceleratorSettings = {}) {
    if (!(Number.isInteger(gradientAccumulationSteps) && gradientAccumulationSteps >= 1)) {
      throw new Error(`Cannot accumulate over ${gradientAccumulationSteps} micro-batches: need a whole number from 1`)
    }
    this.world = world
    this.gradientAccumulationSteps = gradientAccumulationSteps
    this.random = new RandomSource(seed, world.group.rank)
    this.#window = new Window(world.engine, world.group)
    this.#trackers = logWith
    this.#preparation = new Preparation({
      world,
      seed,
      cursor: this.#cursor,
      windowEnded: () => this.syncGradients,
      measure: (seat) => this.#measure(seat),
      say: (line) => this.print(line),
    })
  }

  get rank(): number {
    return this.world.group.rank
  }

  get numRanks(): number {
    return this.world.group.worldSize
  }

  get isMainProcess(): boolean {
    return this.rank === 0
  }

  /** Updates that the first prepared optimizer has committed. */
  get step(): number {
    return this.#preparation.optimizers[0]?.committed ?? 0
  }

  /** Targets of the last window, on all ranks. */
  get numItems(): number {
    return this.#totals.numItems
  }

  /** Mean loss of the last window over all its targets on all ranks, in nats. */
  get loss(): number {
    return this.#totals.lossSum / this.#totals.numItems
  }

  /**
   * Gives models their memory and rank 0's values, and returns what takes part in this rank's work, in the order given: models (wrapped
   * where something in them trains), optimizers, schedulers, data loaders, and lists of batches that each rank made for itself.
   */
  prepare<T extends readonly Preparable[]>(...objects: T): Promise<PreparedAll<T>> {
    return this.#preparation.prepare(objects)
  }

  /** The model without its wrapper. */
  unwrapModel<M extends Module>(model: M): M {
    return model.module
  }

  /**
   * Runs a micro-batch; what it makes on the GPU is freed behind it. Every `gradientAccumulationSteps`-th, and the last of a prepared
   * loader, ends the window: then `syncGradients` is true, `backward` sums over ranks, and the optimizer steps.
   */
  async accumulate<T>(models: Models, body: () => T | Promise<T>): Promise<T> {
    const last = this.#cursor.place?.last ?? false
    this.#microBatches = last ? 0 : (this.#microBatches + 1) % this.gradientAccumulationSteps
    this.syncGradients = this.#microBatches === 0
    const before = this.#active
    this.#active = this.#seatsOf(models)
    using _scope = this.world.engine.scope()
    try {
      return await body()
    } finally {
      this.#active = before
      this.world.engine.tape.clear()
    }
  }

  /** Backwards in `body` keep the models' gradients on this rank. Anything that is not wrapped is left alone. */
  async noSync<T>(models: unknown, body: () => T | Promise<T>): Promise<T> {
    const seats = this.#seatsOf(models)
    const before = seats.map(({ local }) => local)
    for (const seat of seats) seat.local = true
    try {
      return await body()
    } finally {
      for (const [index, seat] of seats.entries()) seat.local = before[index] ?? false
    }
  }

  /** Runs `body` without recording what a backward needs; its tensors are freed behind it. For evaluation. */
  async noGrad<T>(body: () => T | Promise<T>): Promise<T> {
    using _scope = this.world.engine.scope()
    using _pause = this.world.engine.tape.pause()
    return await body()
  }

  /**
   * Adds the loss's gradients. At the end of a window they are summed over ranks, once, and `numItems` and `loss` are known. A batch that
   * only stands in adds nothing. @throws when nothing that the loss depends on requires a gradient, unless no prepared model does
   */
  async backward(loss: Loss): Promise<void> {
    const { seats } = this.#preparation
    if (!loss.root.requiresGrad && seats.length > 0)
      throw new Error('Cannot run backward: the loss requires no gradient, need one computed outside noGrad from parameters that train')
    const { place } = this.#cursor
    const counted = place === null || place.real > 0 ? loss : null
    for (const seat of seats) seat.beforeBackward(this.rank)
    const candidates = this.syncGradients ? (this.#active ?? seats) : []
    const summing = candidates.filter(({ local }) => !local)
    for (const seat of seats) if (!summing.includes(seat) && seat.gradients !== 'summed') seat.gradients = 'local'
    const ends = this.syncGradients && (candidates.length === 0 || summing.length > 0)
    if (ends) this.#totals = await this.#window.addAndSum(counted, summing)
    else await this.#window.add(counted)
  }

  /** Multiplies the mean over ranks, as fairseq: `multiplyGrads(numRanks / numItems)`. Nothing is computed until the gradients are used. */
  multiplyGrads(factor: number, models?: Models): void {
    if (this.syncGradients) for (const seat of this.#chosen(models)) seat.multiply(factor)
  }

  /**
   * Scales the gradients down to a global norm of at most `maxNorm`. @returns the norm before; NaN when a gradient is not finite, and then
   * the optimizer skips its step on all ranks. @throws when no parameter trains, and before the gradients are summed over ranks
   */
  async clipGradNorm(models: Models | undefined, maxNorm: number): Promise<number> {
    const seats = this.#chosen(models)
    if (seats.length === 0) throw new Error('Cannot clip the gradient norm: no parameter requires a gradient, need a prepared model in which one does')
    const norm = await measureNorm(this.world.group, seats, this.step)
    if (Number.isFinite(norm)) for (const seat of seats) seat.multiply(clipFactor(norm, maxNorm))
    return norm
  }

  /** The gradients as they stand, by name, multiplied by what they have been told. For looking at, not for speed. */
  async readGradients(model: Module): Promise<Map<string, Float32Array>> {
    return this.#preparation.readGradients(model)
  }

  /** Everyone's numbers, in rank order; ranks may give unequally many. */
  async gather(values: number | ArrayLike<number> | Tensor): Promise<number[]> {
    const mine = typeof values === 'number' ? [values] : values instanceof Tensor ? await values.read() : values
    return (await this.world.group.gather(mine)).flatMap((part) => [...part])
  }

  /** As `gather`, for results by sample of the batch that a prepared loader gave: those of stand-ins are dropped. */
  async gatherForMetrics(values: ArrayLike<number> | Tensor): Promise<number[]> {
    const mine = values instanceof Tensor ? await values.read() : values
    const { real, rows } = this.#cursor.place ?? { real: 1, rows: 1 }
    if (mine.length % rows !== 0) throw new Error(`Cannot gather ${mine.length} results of a batch of ${rows} samples: need equally many of each`)
    return this.gather(Array.from(mine).slice(0, (mine.length / rows) * real))
  }

  /** Resolves when every rank has come here. */
  async waitForEveryone(): Promise<void> {
    await this.world.group.meet()
  }

  /** A line in the terminal, from the main rank alone. */
  print(...parts: readonly unknown[]): void {
    if (this.isMainProcess) this.world.print(parts.map(String).join(' '))
  }

  async initTrackers(project: string, config: Readonly<Record<string, unknown>> = {}, { runName = null }: { readonly runName?: string | null } = {}): Promise<void> {
    const run = { id: newRunId(), project, name: runName, config, startedMs: Date.now() }
    if (this.isMainProcess) for (const tracker of this.#trackers) await tracker.start(run)
  }

  /** To every tracker, once, from the main rank. */
  async log(values: TrackedValues, { step = this.step }: { readonly step?: number } = {}): Promise<void> {
    if (this.isMainProcess) for (const tracker of this.#trackers) await tracker.log(values, step)
  }

  async endTraining(): Promise<void> {
    if (this.isMainProcess) for (const tracker of this.#trackers) await tracker.finish()
    await this.waitForEveryone()
  }

  /** Writes models, optimizers, schedulers, loaders' places, random numbers and counters into a folder. @throws inside a window */
  async saveState(folder: string): Promise<void> {
    if (this.#microBatches > 0 || this.#preparation.seats.some(({ gradients }) => gradients === 'local')) {
      throw new Error(`Cannot save the state: ${this.#microBatches} of ${this.gradientAccumulationSteps} micro-batches of a window are done, need the end of one`)
    }
    await saveState(this.world, folder, { ...this.#preparation.saved, random: this.random })
  }

  /** Goes on from a folder that saveState wrote, also on another number of ranks; prepared loaders give what is left of their epoch. */
  async loadState(folder: string): Promise<void> {
    await loadState(this.world, folder, { ...this.#preparation.saved, random: this.random })
    for (const seat of this.#preparation.seats) seat.zero()
  }

  async #measure(seat: ModelSeat): Promise<void> {
    await measureNorm(this.world.group, [seat], this.step)
    if (this.#totals.numItems === 0) seat.finite = false
  }

  #seatsOf(models: unknown): ModelSeat[] {
    return (Array.isArray(models) ? models : [models]).flatMap((model: unknown) => (model instanceof Module ? (this.#preparation.seatOf(model) ?? []) : []))
  }

  #chosen(models: Models | undefined): readonly ModelSeat[] {
    return models === undefined ? this.#preparation.seats : this.#seatsOf(models)
  }
}
