import momentumSource from '../../shaders/sgd-momentum.wgsl?raw'
import plainSource from '../../shaders/sgd.wgsl?raw'
import type { Engine } from '../engine/engine.ts'
import type { Kernel } from '../engine/kernel.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { FlatStep } from './flat-step.ts'
import type { Optimizer, OptimizerState, OptimizerStep } from './optimizer.ts'

const plain: Kernel = { name: 'sgd', source: plainSource }
const withMomentum: Kernel = { name: 'sgd-momentum', source: momentumSource }

export interface SgdOptions {
  /** 0 keeps no buffer. */
  readonly momentum: number
  readonly weightDecay: number
}

/** Gradient descent as torch.optim.SGD: g += decay * p; b = momentum * b + g; p -= lr * b. */
export class Sgd implements Optimizer {
  readonly state: readonly OptimizerState[]
  committed = 0
  readonly #options: SgdOptions
  readonly #kernel: FlatStep

  constructor(engine: Engine, parameters: FlatParameters, options: SgdOptions) {
    this.#options = options
    this.state = options.momentum > 0 ? [{ name: 'momentum_buffer', storage: engine.reserve(parameters.elements * 4, 'momentum buffer') }] : []
    const kernel = options.momentum > 0 ? withMomentum : plain
    this.#kernel = new FlatStep(engine, { parameters, kernel, state: this.state.map(({ storage }) => storage), settings: 4 })
  }

  step({ learningRate, gradientFactor }: OptimizerStep): void {
    const { momentum, weightDecay } = this.#options
    this.committed++
    this.#kernel.run(Float32Array.of(gradientFactor, weightDecay, momentum, learningRate))
  }

  warm(): void {
    this.#kernel.enqueue()
  }
}
