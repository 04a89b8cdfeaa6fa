import { layerNorm } from '../engine/ops/layer-norm.ts'
import type { Tensor } from '../engine/tensor.ts'
import { Module } from './module.ts'
import { type Weight, constant } from './weight.ts'

/** x: [R, width] -> each row with mean 0 and variance 1, times weight, plus bias: [R, width] */
export class LayerNorm extends Module {
  readonly weight: Weight
  readonly bias: Weight
  readonly epsilon: number

  constructor(width: number, epsilon = 1e-5) {
    super()
    this.weight = constant([width], 1)
    this.bias = constant([width], 0)
    this.epsilon = epsilon
  }

  forward(x: Tensor): Tensor {
    return layerNorm(x, this.weight.tensor, this.bias.tensor, { epsilon: this.epsilon })
  }
}
