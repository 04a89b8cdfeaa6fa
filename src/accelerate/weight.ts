import { type Tensor, elementCount, formatShape } from '../engine/tensor.ts'

/** What a parameter starts from; random numbers depend on the Accelerator's seed and the parameter's name alone. */
export type Initial = { readonly kind: 'normal'; readonly standardDeviation: number } | { readonly kind: 'constant'; readonly value: number }

/** A module's parameter. It has no memory before `accelerator.prepare(model)`, which decides where all of them lie. */
export class Weight {
  readonly shape: readonly number[]
  /** Number of elements. */
  readonly size: number
  readonly initial: Initial
  #requiresGrad = true
  #tensor: Tensor | null = null

  constructor(shape: readonly number[], initial: Initial) {
    this.shape = shape
    this.size = elementCount(shape)
    this.initial = initial
  }

  get requiresGrad(): boolean {
    return this.#requiresGrad
  }

  /** @throws once the model is prepared: gradients, moments and buckets are laid out by then. */
  set requiresGrad(flag: boolean) {
    if (this.#tensor && flag !== this.#requiresGrad)
      throw new Error(`Cannot ${flag ? 'train' : 'freeze'} a parameter of ${formatShape(this.shape)}: its model is prepared, need that before`)
    this.#requiresGrad = flag
  }

  get bound(): boolean {
    return this.#tensor !== null
  }

  /** @throws before the model is prepared. */
  get tensor(): Tensor {
    if (!this.#tensor) throw new Error(`Cannot use a parameter of ${formatShape(this.shape)}: it has no memory yet, need accelerator.prepare(model)`)
    return this.#tensor
  }

  bind(tensor: Tensor): void {
    this.#tensor = tensor
  }
}

/** Normally distributed, mean 0. */
export function normal(shape: readonly number[], standardDeviation: number): Weight {
  return new Weight(shape, { kind: 'normal', standardDeviation })
}

export function constant(shape: readonly number[], value: number): Weight {
  return new Weight(shape, { kind: 'constant', value })
}
