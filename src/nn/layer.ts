import { add } from '../engine/ops/add-tensors.ts'
import { gelu } from '../engine/ops/gelu.ts'
import { type LinearOptions, linear } from '../engine/ops/linear.ts'
import type { Tensor } from '../engine/tensor.ts'
import { type Adapter, addAdapter } from './lora.ts'

/** A linear layer or a norm, as it lies in a model. */
export interface Layer {
  readonly weight: Tensor
  readonly bias: Tensor | null
  /** Of a linear layer that is adapted. */
  readonly adapter: Adapter | null
}

export interface ProjectOptions extends LinearOptions {
  /** As in `TokenBatch`. */
  readonly dropoutKeys: Tensor | null
}

/** x: [R, K] -> activation(x W + bias + adapter) + residual: [R, N] */
export function project(x: Tensor, { weight, bias, adapter }: Layer, { dropoutKeys, ...options }: ProjectOptions): Tensor {
  if (!adapter) return linear(x, weight, bias, options)
  const { layout, activation = 'none', residual } = options
  // What is added to an adapted layer costs nothing when the layer starts from it.
  if (activation === 'none') return addAdapter(linear(x, weight, bias, { layout, ...(residual && { residual }) }), x, adapter, dropoutKeys)
  const activated = gelu(addAdapter(linear(x, weight, bias, { layout }), x, adapter, dropoutKeys), activation)
  return residual ? add(activated, residual) : activated
}
