import type { Optimizer as EngineOptimizer } from '../optim/optimizer.ts'
import type { ModelSeat } from './model-seat.ts'

export interface OptimizerPorts {
  /** False inside a window that is not over. */
  readonly windowEnded: () => boolean
  /** Sets the seat's `finite`. */
  readonly measure: (seat: ModelSeat) => Promise<void>
}

/** An optimizer that steps at the end of a window only, and on all ranks or none. */
export class PreparedOptimizer {
  /** Of the next step. */
  learningRate: number
  /** Whether the last step was left out: a gradient was not finite, or the window had no targets. */
  stepWasSkipped = false
  /** Null where nothing trains. */
  readonly inner: EngineOptimizer | null
  readonly seat: ModelSeat | null
  readonly #ports: OptimizerPorts

  constructor(learningRate: number, trains: { readonly inner: EngineOptimizer; readonly seat: ModelSeat } | null, ports: OptimizerPorts) {
    this.learningRate = learningRate
    this.inner = trains?.inner ?? null
    this.seat = trains?.seat ?? null
    this.#ports = ports
  }

  /** Steps taken. */
  get committed(): number {
    return this.inner?.committed ?? 0
  }

  /** Does nothing inside a window, and after zeroGrad. @throws when the gradients are this rank's alone */
  async step(): Promise<void> {
    const { seat, inner } = this
    if (!this.#ports.windowEnded()) return
    this.stepWasSkipped = true
    if (!seat || !inner || seat.gradients === 'zero') return
    seat.requireSummed('step with')
    if (seat.finite === null) await this.#ports.measure(seat)
    seat.stepped()
    if (!seat.finite) return
    inner.step({ learningRate: this.learningRate, gradientFactor: seat.factor })
    this.stepWasSkipped = false
  }

  /** Does nothing inside a window. */
  zeroGrad(): void {
    if (this.#ports.windowEnded()) this.seat?.zero()
  }
}
