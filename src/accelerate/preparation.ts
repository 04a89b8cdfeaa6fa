import { splitSlots } from '../nn/named-tensors.ts'
import { agreeOnModel } from './agree.ts'
import type { BatchCursor } from './batch-cursor.ts'
import { type BoundModule, bindModule } from './bind-module.ts'
import type { BatchList } from './batch-list.ts'
import { DataLoader } from './data-loader.ts'
import { ModelSeat } from './model-seat.ts'
import { Module } from './module.ts'
import { Optimizer } from './optimizer.ts'
import { PreparedDataLoader } from './prepared-data-loader.ts'
import { PreparedOptimizer } from './prepared-optimizer.ts'
import { PreparedScheduler } from './prepared-scheduler.ts'
import { Scheduler } from './scheduler.ts'
import { UnevenBatches } from './uneven-batches.ts'
import type { World } from './world.ts'
import { wrap } from './wrap.ts'

export type Preparable = Module | Optimizer | Scheduler | BatchList<unknown> | Iterable<unknown> | AsyncIterable<unknown>

type PreparedOf<T> = T extends Module
  ? T
  : T extends Optimizer
    ? PreparedOptimizer
    : T extends Scheduler
      ? PreparedScheduler
      : T extends BatchList<infer Batch>
        ? PreparedDataLoader<Batch>
        : T extends Iterable<infer Batch> | AsyncIterable<infer Batch>
          ? UnevenBatches<Batch>
          : never

export type PreparedAll<T extends readonly unknown[]> = { -readonly [Index in keyof T]: PreparedOf<T[Index]> }

interface PreparationPorts {
  readonly world: World
  readonly seed: number
  readonly cursor: BatchCursor
  readonly windowEnded: () => boolean
  readonly measure: (seat: ModelSeat) => Promise<void>
  readonly say: (line: string) => void
}

interface PreparedModel {
  readonly bound: BoundModule
  /** Null when nothing in it trains. */
  readonly seat: ModelSeat | null
  /** What prepare returned. */
  readonly face: Module
}

/** Whatever an Accelerator has prepared. */
export class Preparation {
  readonly #ports: PreparationPorts
  readonly #models = new Map<Module, PreparedModel>()
  readonly #optimizers = new Map<Optimizer, PreparedOptimizer>()
  readonly #schedulers: PreparedScheduler[] = []
  readonly #loaders: PreparedDataLoader<unknown>[] = []
  #seats: readonly ModelSeat[] = []

  constructor(ports: PreparationPorts) {
    this.#ports = ports
  }

  /** Of the models that are wrapped. */
  get seats(): readonly ModelSeat[] {
    return this.#seats
  }

  get optimizers(): readonly PreparedOptimizer[] {
    return [...this.#optimizers.values()]
  }

  get saved() {
    return { models: [...this.#models.values()].map(({ bound }) => bound), optimizers: this.optimizers, schedulers: this.#schedulers, loaders: this.#loaders }
  }

  seatOf(model: Module): ModelSeat | null {
    return this.#models.get(model.module)?.seat ?? null
  }

  async prepare<T extends readonly Preparable[]>(objects: T): Promise<PreparedAll<T>> {
    const done = new Map<Preparable, unknown>()
    const each = async <Kind extends Preparable>(kind: abstract new (...args: never[]) => Kind, make: (object: Kind) => unknown) => {
      for (const object of objects) if (object instanceof kind) done.set(object, await make(object))
    }
    // Whatever the order given: optimizers need their model, schedulers their optimizer.
    await each(Module, (model) => this.#model(model))
    await each(Optimizer, (optimizer) => this.#optimizer(optimizer))
    await each(Scheduler, (scheduler) => this.#scheduler(scheduler))
    await each<BatchList<unknown>>(DataLoader, (loader) => this.#loader(loader))
    return objects.map((object) => done.get(object) ?? this.#batches(object)) as PreparedAll<T>
  }

  async readGradients(model: Module): Promise<Map<string, Float32Array>> {
    const seat = this.seatOf(model)
    if (!seat) return new Map()
    const { parameters, factor } = seat
    const flat = new Float32Array(await this.#ports.world.engine.readBytes(parameters.gradients, parameters.elements * 4))
    return new Map([...splitSlots(parameters, flat)].map(([name, { values }]) => [name, values.map((value) => value * factor)]))
  }

  async #model(model: Module): Promise<Module> {
    const inner = model.module
    const known = this.#models.get(inner)
    if (known) return known.face
    const { world, seed, say } = this.#ports
    const bound = bindModule(world.engine, inner, seed)
    await agreeOnModel(world.group, world.engine, bound)
    const seat = bound.trainable && new ModelSeat(world.engine, bound.name, bound.trainable)
    const face = seat ? wrap(inner) : inner
    if (!seat) say(`${bound.name} is not wrapped: none of its ${bound.weights.size} parameters requires a gradient (trainable 0)`)
    this.#models.set(inner, { bound, seat, face })
    if (seat) this.#seats = [...this.#seats, seat]
    return face
  }

  #optimizer(optimizer: Optimizer): PreparedOptimizer {
    const known = this.#optimizers.get(optimizer)
    if (known) return known
    const model = this.#models.get(optimizer.model)
    if (!model) throw new Error(`Cannot prepare the optimizer of ${optimizer.model.constructor.name}: its model is not prepared, need it before or in the same call`)
    const { seat } = model
    const trains = seat && { inner: optimizer.create(this.#ports.world.engine, seat.parameters), seat }
    const prepared = new PreparedOptimizer(optimizer.learningRate, trains, this.#ports)
    this.#optimizers.set(optimizer, prepared)
    return prepared
  }

  #scheduler(scheduler: Scheduler): PreparedScheduler {
    const optimizer = this.#optimizers.get(scheduler.optimizer)
    if (!optimizer) throw new Error('Cannot prepare the scheduler: its optimizer is not prepared, need it before or in the same call')
    const prepared = new PreparedScheduler(scheduler, optimizer, this.#ports.windowEnded)
    this.#schedulers.push(prepared)
    return prepared
  }

  #loader(loader: BatchList<unknown>): PreparedDataLoader<unknown> {
    const prepared = new PreparedDataLoader(loader, this.#ports.world.group, this.#ports.cursor)
    this.#loaders.push(prepared)
    return prepared
  }

  #batches(object: Preparable): UnevenBatches<unknown> {
    if (typeof object !== 'object' || !(Symbol.iterator in object || Symbol.asyncIterator in object)) {
      throw new Error(`Cannot prepare ${String(object)}: need a Module, an Optimizer, a Scheduler, a DataLoader or an iterable of batches`)
    }
    return new UnevenBatches(object, this.#ports.world.group, this.#ports.cursor)
  }
}
