import type { Engine } from '../engine/engine.ts'
import type { Parameter } from '../engine/tensor.ts'
import type { Loss } from './loss.ts'
import type { ModelSeat } from './model-seat.ts'
import type { RankGroup } from './rank-group.ts'

/** Of a window, over all ranks. */
export interface WindowTotals {
  readonly numItems: number
  /** In nats. */
  readonly lossSum: number
}

/** Runs backwards and counts what a window adds up to. */
export class Window {
  readonly #engine: Engine
  readonly #group: RankGroup
  #items = 0
  #lossSum = 0
  /** Losses that are still on their way from the GPU. */
  #reading: Promise<number> = Promise.resolve(0)

  constructor(engine: Engine, group: RankGroup) {
    this.#engine = engine
    this.#group = group
  }

  /** Adds a micro-batch; gradients stay on this rank. Null adds nothing: a batch that only stands in. */
  async add(loss: Loss | null, onReady?: (parameter: Parameter) => void): Promise<void> {
    const { tape } = this.#engine
    if (!loss) return tape.clear()
    this.#items += loss.items
    const read = loss.sum.read().then(([sum = Number.NaN]) => sum)
    read.catch(() => {}) // awaited below or by the next micro-batch
    const before = this.#reading
    this.#reading = read
    if (loss.root.requiresGrad) tape.backward(loss.root, onReady)
    // At most two micro-batches are queued on the GPU.
    const value = await before
    this.#lossSum += value
  }

  /** As `add`, and sums the gradients of `seats` over ranks while the backward goes on. The next window begins. */
  async addAndSum(loss: Loss | null, seats: readonly ModelSeat[]): Promise<WindowTotals> {
    const [first, ...others] = seats
    const exchange = first?.sync.begin(this.#group.ring, this.#group.next())
    await this.add(loss, exchange && ((parameter) => first?.parameters.byName.get(parameter.name) === parameter && exchange.ready(parameter.name)))
    await exchange?.finish()
    if (exchange?.failure) throw exchange.failure
    for (const seat of others) {
      const next = seat.sync.begin(this.#group.ring, this.#group.next())
      await next.finish()
      if (next.failure) throw next.failure
    }
    for (const seat of seats) seat.summed(this.#group.worldSize)
    return this.#total()
  }

  async #total(): Promise<WindowTotals> {
    const lossSum = this.#lossSum + (await this.#reading)
    const [numItems = 0, total = 0] = await this.#group.sum([this.#items, lossSum])
    this.#items = 0
    this.#lossSum = 0
    this.#reading = Promise.resolve(0)
    return { numItems, lossSum: total }
  }
}
