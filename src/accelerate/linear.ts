import { type LinearOptions, linear } from '../engine/ops/linear.ts'
import type { Tensor } from '../engine/tensor.ts'
import { Module } from './module.ts'
import { type Weight, constant, normal } from './weight.ts'

export interface LinearSettings {
  readonly bias?: boolean
  readonly standardDeviation?: number
}

/** x: [R, inputs] -> activation(x W^T + bias) + residual: [R, outputs]; the layout of torch's Linear. */
export class Linear extends Module {
  readonly weight: Weight
  readonly bias: Weight | null

  constructor(inputs: number, outputs: number, { bias = true, standardDeviation = 1 / Math.sqrt(inputs) }: LinearSettings = {}) {
    super()
    this.weight = normal([outputs, inputs], standardDeviation)
    this.bias = bias ? constant([outputs], 0) : null
  }

  forward(x: Tensor, options: Omit<LinearOptions, 'layout'> = {}): Tensor {
    return linear(x, this.weight.tensor, this.bias?.tensor ?? null, { ...options, layout: 'out-in' })
  }
}
