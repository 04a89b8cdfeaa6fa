import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { AdamW as EngineAdamW } from '../optim/adamw.ts'
import type { Optimizer as EngineOptimizer } from '../optim/optimizer.ts'
import { Sgd as EngineSgd } from '../optim/sgd.ts'
import type { Module } from './module.ts'

/** An optimizer of a model's parameters before `accelerator.prepare`, which gives it memory. */
export abstract class Optimizer {
  readonly model: Module
  readonly learningRate: number

  constructor(model: Module, learningRate: number) {
    this.model = model.module
    this.learningRate = learningRate
  }

  abstract create(engine: Engine, parameters: FlatParameters): EngineOptimizer
}

export interface AdamWSettings {
  readonly learningRate?: number
  readonly betas?: readonly [number, number]
  readonly epsilon?: number
  readonly weightDecay?: number
}

/** As torch.optim.AdamW, with its defaults; weights of two or more dimensions decay. */
export class AdamW extends Optimizer {
  readonly #settings: AdamWSettings

  constructor(model: Module, settings: AdamWSettings = {}) {
    super(model, settings.learningRate ?? 1e-3)
    this.#settings = settings
  }

  create(engine: Engine, parameters: FlatParameters): EngineOptimizer {
    const { betas: [beta1, beta2] = [0.9, 0.999], epsilon = 1e-8, weightDecay = 0.01 } = this.#settings
    return new EngineAdamW(engine, parameters, { beta1, beta2, epsilon, weightDecay })
  }
}

export interface SgdSettings {
  readonly learningRate?: number
  readonly momentum?: number
  readonly weightDecay?: number
}

/** As torch.optim.SGD, with its defaults; weights of two or more dimensions decay. */
export class Sgd extends Optimizer {
  readonly #settings: SgdSettings

  constructor(model: Module, settings: SgdSettings = {}) {
    super(model, settings.learningRate ?? 1e-3)
    this.#settings = settings
  }

  create(engine: Engine, parameters: FlatParameters): EngineOptimizer {
    const { momentum = 0, weightDecay = 0 } = this.#settings
    return new EngineSgd(engine, parameters, { momentum, weightDecay })
  }
}
