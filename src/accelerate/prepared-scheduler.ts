import type { PreparedOptimizer } from './prepared-optimizer.ts'
import type { Scheduler } from './scheduler.ts'

/** A schedule that advances once for each committed update, whatever the number of ranks and micro-batches. */
export class PreparedScheduler {
  readonly #scheduler: Scheduler
  readonly #optimizer: PreparedOptimizer
  readonly #windowEnded: () => boolean
  #position = 0

  constructor(scheduler: Scheduler, optimizer: PreparedOptimizer, windowEnded: () => boolean) {
    this.#scheduler = scheduler
    this.#optimizer = optimizer
    this.#windowEnded = windowEnded
    this.position = 0
  }

  /** Updates that it has seen. */
  get position(): number {
    return this.#position
  }

  set position(position: number) {
    this.#position = position
    this.#optimizer.learningRate = this.#scheduler.rate(position)
  }

  /** After optimizer.step(); does nothing inside a window or when the step was skipped. */
  step(): void {
    if (this.#windowEnded() && !this.#optimizer.stepWasSkipped) this.position++
  }
}
