import { attention } from '../engine/ops/attention.ts'
import type { Tensor } from '../engine/tensor.ts'
import { Linear } from './linear.ts'
import { Module } from './module.ts'

/** Attention of each position to itself and those before it, with its projections. */
export class CausalAttention extends Module {
  readonly qkv: Linear
  readonly out: Linear
  readonly heads: number
  readonly headDim: number

  /** @throws when `heads` does not divide `width`. */
  constructor(width: number, heads: number) {
    super()
    if (width % heads !== 0) throw new Error(`Cannot split a width of ${width} among ${heads} heads: need a divisor`)
    this.qkv = new Linear(width, 3 * width)
    this.out = new Linear(width, width)
    this.heads = heads
    this.headDim = width / heads
  }

  /** x: [batch * length, width] -> the same shape, plus `residual` if there is one. */
  forward(x: Tensor, { batch, length }: { readonly batch: number; readonly length: number }, residual?: Tensor): Tensor {
    const { heads, headDim } = this
    const mixed = attention(this.qkv.forward(x), { batch, length, heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim) })
    return this.out.forward(mixed, residual ? { residual } : {})
  }
}
