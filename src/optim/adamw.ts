import adamwSource from '../../shaders/adamw.wgsl?raw'
import type { Engine } from '../engine/engine.ts'
import type { Kernel } from '../engine/kernel.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { FlatStep } from './flat-step.ts'
import type { Optimizer, OptimizerState, OptimizerStep } from './optimizer.ts'

const adamw: Kernel = { name: 'adamw', source: adamwSource }

export interface AdamWOptions {
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
}

const SETTINGS = 12

/**
 * AdamW over the flat buffers, in place: p *= 1 - lr * decay; m, v; p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon),
 * in the order of torch.optim.AdamW.
 */
export class AdamW implements Optimizer {
  /** Means of gradients and of their squares. */
  readonly state: readonly OptimizerState[]
  committed = 0
  readonly #options: AdamWOptions
  readonly #kernel: FlatStep
  readonly #settings = new Float32Array(SETTINGS)

  constructor(engine: Engine, parameters: FlatParameters, options: AdamWOptions) {
    this.#options = options
    this.state = ['exp_avg', 'exp_avg_sq'].map((name) => ({ name, storage: engine.reserve(parameters.elements * 4, name) }))
    this.#kernel = new FlatStep(engine, { parameters, kernel: adamw, state: this.state.map(({ storage }) => storage), settings: SETTINGS })
  }

  step({ learningRate, gradientFactor }: OptimizerStep): void {
    const { beta1, beta2, epsilon, weightDecay } = this.#options
    this.committed++
    const bias1 = 1 - beta1 ** this.committed
    const bias2 = 1 - beta2 ** this.committed
    this.#settings.set([gradientFactor, learningRate * weightDecay, beta1, 1 - beta1])
    this.#settings.set([beta2, 1 - beta2, learningRate / bias1, 1 / Math.sqrt(bias2), epsilon], 4)
    this.#kernel.run(this.#settings)
  }

  warm(): void {
    this.#kernel.enqueue()
  }
}
