import adamwSource from '../../shaders/adamw.wgsl?raw'
import type { Engine } from '../engine/engine.ts'
import type { Kernel } from '../engine/kernel.ts'
import { type FlatParameters, type ParameterSlot, SLOT_ELEMENTS } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import { Tensor } from '../engine/tensor.ts'
import { bindingWindows } from './windows.ts'

const adamw: Kernel = { name: 'adamw', source: adamwSource }

export interface AdamWOptions {
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
}

export interface AdamWStep {
  readonly learningRate: number
  /** What the summed gradients are multiplied by: 1 / num_items times the clip factor. */
  readonly gradientFactor: number
}

const SETTINGS = 12

interface Dispatch {
  readonly constants: { readonly VECTORS: number; readonly BLOCKS: number }
  readonly bindings: readonly Tensor[]
  readonly groups: number
}

/**
 * AdamW over the flat buffers, in place: p *= 1 - lr * decay; m, v; p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon),
 * in the order of torch.optim.AdamW. Weights of two or more dimensions decay; biases and norms do not.
 */
export class AdamW {
  readonly options: AdamWOptions
  /** Means of gradients and of their squares, laid out as the parameters. */
  readonly firstMoments: Storage
  readonly secondMoments: Storage
  /** Optimizer steps taken. */
  committed = 0
  readonly #engine: Engine
  readonly #settings: Storage
  readonly #values = new Float32Array(SETTINGS)
  readonly #dispatches: readonly Dispatch[]

  constructor(engine: Engine, parameters: FlatParameters, options: AdamWOptions) {
    this.options = options
    this.#engine = engine
    this.firstMoments = engine.reserve(parameters.elements * 4, 'first moments')
    this.secondMoments = engine.reserve(parameters.elements * 4, 'second moments')
    this.#settings = engine.reserve(SETTINGS * 4, 'optimizer settings')
    const decays = decayTable(parameters.slots, parameters.elements)
    const table = engine.reserve(decays.byteLength, 'decay table')
    engine.write(table, decays)
    this.#dispatches = bindingWindows(engine, parameters.elements).map(({ offset, length }) => {
      const part = (storage: Storage, elements: number, first: number) => new Tensor(engine, [elements], engine.slice(storage, first * 4, elements * 4))
      const flat = [parameters.values, this.firstMoments, this.secondMoments, parameters.gradients].map((storage) => part(storage, length, offset))
      const blocks = length / SLOT_ELEMENTS
      return {
        constants: { VECTORS: length / 4, BLOCKS: blocks },
        bindings: [...flat, part(table, blocks, offset / SLOT_ELEMENTS), part(this.#settings, SETTINGS, 0)],
        groups: Math.ceil(length / 256),
      }
    })
  }

  /** Enqueues one step on the gradients as they stand. */
  step({ learningRate, gradientFactor }: AdamWStep): void {
    const { beta1, beta2, epsilon, weightDecay } = this.options
    this.committed++
    const bias1 = 1 - beta1 ** this.committed
    const bias2 = 1 - beta2 ** this.committed
    this.#values.set([gradientFactor, learningRate * weightDecay, beta1, 1 - beta1])
    this.#values.set([beta2, 1 - beta2, learningRate / bias1, 1 / Math.sqrt(bias2), epsilon], 4)
    this.#engine.write(this.#settings, this.#values)
    this.#enqueue()
  }

  /** For `engine.compile`: the pipelines of a step, without stepping. */
  warm(): void {
    this.#enqueue()
  }

  #enqueue(): void {
    for (const { constants, bindings, groups } of this.#dispatches) this.#engine.dispatch(adamw, constants, bindings, [groups])
  }
}

/** 1 for each 64 elements of a weight that decays, else 0; slots start at multiples of 64. */
function decayTable(slots: readonly ParameterSlot[], elements: number): Float32Array<ArrayBuffer> {
  const table = new Float32Array(Math.max(1, elements / SLOT_ELEMENTS))
  for (const { shape, offset, length } of slots) {
    if (shape.length >= 2) table.fill(1, offset / SLOT_ELEMENTS, Math.ceil((offset + length) / SLOT_ELEMENTS))
  }
  return table
}
