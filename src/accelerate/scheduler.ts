import { type ScheduleKind, learningRate } from '../optim/schedule.ts'
import type { Optimizer } from './optimizer.ts'

export interface SchedulerSettings {
  readonly kind: ScheduleKind
  /** Updates of the whole run, where linear and cosine reach zero. */
  readonly totalSteps: number
  readonly warmupSteps?: number
}

/** How an optimizer's learning rate changes, before `accelerator.prepare`. Formulas of transformers' get_scheduler. */
export class Scheduler {
  readonly optimizer: Optimizer
  readonly settings: SchedulerSettings

  constructor(optimizer: Optimizer, settings: SchedulerSettings) {
    this.optimizer = optimizer
    this.settings = settings
  }

  /** The rate of the update after so many. */
  rate(committed: number): number {
    const { kind, totalSteps, warmupSteps = 0 } = this.settings
    return learningRate({ kind, peak: this.optimizer.learningRate, warmupSteps, totalSteps }, committed)
  }
}
