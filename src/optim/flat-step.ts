import type { Engine } from '../engine/engine.ts'
import type { Kernel } from '../engine/kernel.ts'
import { type FlatParameters, type ParameterSlot, SLOT_ELEMENTS } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import { Tensor } from '../engine/tensor.ts'
import { bindingWindows } from './windows.ts'

export interface FlatStepParts {
  readonly parameters: FlatParameters
  readonly kernel: Kernel
  /** Storages that the kernel updates beside the values. */
  readonly state: readonly Storage[]
  /** Numbers that change from step to step; a multiple of 4. */
  readonly settings: number
}

interface Dispatch {
  readonly constants: { readonly VECTORS: number; readonly BLOCKS: number }
  readonly bindings: readonly Tensor[]
  readonly groups: number
}

/**
 * An optimizer's kernel over the flat buffers, bound in this order: values, state, gradients, decays (1 for each 64 elements of a
 * weight that decays, else 0), settings. Weights of two or more dimensions decay; biases and norms do not.
 */
export class FlatStep {
  readonly #engine: Engine
  readonly #kernel: Kernel
  readonly #settings: Storage
  readonly #dispatches: readonly Dispatch[]

  constructor(engine: Engine, { parameters, kernel, state, settings }: FlatStepParts) {
    this.#engine = engine
    this.#kernel = kernel
    this.#settings = engine.reserve(settings * 4, 'optimizer settings')
    const decays = decayTable(parameters.slots, parameters.elements)
    const table = engine.reserve(decays.byteLength, 'decay table')
    engine.write(table, decays)
    this.#dispatches = bindingWindows(engine, parameters.elements).map(({ offset, length }) => {
      const part = (storage: Storage, elements: number, first: number) => new Tensor(engine, [elements], engine.slice(storage, first * 4, elements * 4))
      const flat = [parameters.values, ...state, parameters.gradients].map((storage) => part(storage, length, offset))
      const blocks = length / SLOT_ELEMENTS
      return {
        constants: { VECTORS: length / 4, BLOCKS: blocks },
        bindings: [...flat, part(table, blocks, offset / SLOT_ELEMENTS), part(this.#settings, settings, 0)],
        groups: Math.ceil(length / 256),
      }
    })
  }

  run(settings: Float32Array<ArrayBuffer>): void {
    this.#engine.write(this.#settings, settings)
    this.enqueue()
  }

  /** With the settings as they stand. */
  enqueue(): void {
    for (const { constants, bindings, groups } of this.#dispatches) this.#engine.dispatch(this.#kernel, constants, bindings, [groups])
  }
}

/** Slots start at multiples of 64. */
function decayTable(slots: readonly ParameterSlot[], elements: number): Float32Array<ArrayBuffer> {
  const table = new Float32Array(Math.max(1, elements / SLOT_ELEMENTS))
  for (const { shape, offset, length } of slots) {
    if (shape.length >= 2) table.fill(1, offset / SLOT_ELEMENTS, Math.ceil((offset + length) / SLOT_ELEMENTS))
  }
  return table
}
