import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { GradNorm } from '../optim/grad-norm.ts'
import { GradientSync } from '../parallel/ddp.ts'

/** torch's DDP closes a bucket at 25 MB; its first one at 1 MB. */
const BUCKETS = { capBytes: 25e6, firstCapBytes: 1e6 }

/** A wrapped model's gradients: whether they are summed over ranks, and what they are multiplied by when they are used. */
export class ModelSeat {
  readonly name: string
  readonly parameters: FlatParameters
  readonly sync: GradientSync
  readonly norm: GradNorm
  /** Set inside noSync. */
  local = false
  /** zero: nothing since zeroGrad. local: of this rank. summed: over all ranks, equal on them. */
  gradients: 'zero' | 'local' | 'summed' = 'zero'
  /** Whether the norm was finite; null when it was not read since. */
  finite: boolean | null = null
  readonly #engine: Engine
  #factor = 1
  #used = false

  constructor(engine: Engine, name: string, parameters: FlatParameters) {
    this.#engine = engine
    this.name = name
    this.parameters = parameters
    this.sync = new GradientSync(engine, parameters, BUCKETS)
    this.norm = new GradNorm(engine, parameters)
    engine.clear(parameters.gradients)
  }

  /** What the gradients in memory are multiplied by: 1 / ranks, and whatever `multiply` was told. */
  get factor(): number {
    return this.#factor
  }

  /**
   * Before a backward adds to the gradients. What is summed already is kept by rank 0 alone, so that the next sum counts it once.
   * @throws when they were multiplied or stepped with
   */
  beforeBackward(rank: number): void {
    if (this.gradients !== 'summed') return
    if (this.#used) throw new Error(`Cannot add to the gradients of ${this.name}: they were multiplied or stepped with, need optimizer.zeroGrad() before`)
    if (rank !== 0) this.#engine.clear(this.parameters.gradients)
  }

  summed(worldSize: number): void {
    this.gradients = 'summed'
    this.#factor = 1 / worldSize
    this.finite = null
  }

  /** @throws before they are summed over ranks */
  multiply(factor: number): void {
    this.requireSummed('multiply')
    this.#factor *= factor
    this.#used = true
    if (!Number.isFinite(factor)) this.finite = false
  }

  stepped(): void {
    this.#used = true
  }

  zero(): void {
    this.#engine.clear(this.parameters.gradients)
    this.gradients = 'zero'
    this.#factor = 1
    this.#used = false
    this.finite = null
  }

  requireSummed(what: string): void {
    if (this.gradients !== 'local') return
    throw new Error(
      `Cannot ${what} the gradients of ${this.name}: they are this rank's alone, need a backward outside noSync (inside accumulate: when accelerator.syncGradients is true)`,
    )
  }
}
