import { streamOf } from '../base/random.ts'
import type { Engine } from '../engine/engine.ts'
import { dropout } from '../engine/ops/dropout.ts'
import { linear } from '../engine/ops/linear.ts'
import { scale } from '../engine/ops/scale.ts'
import type { ParameterSpec } from '../engine/parameters.ts'
import { Tensor } from '../engine/tensor.ts'

/** Low-rank adaptation (Hu et al. 2021), with PEFT's names and arithmetic. */
export interface LoraOptions {
  readonly rank: number
  readonly alpha: number
  /** Scale by alpha / sqrt(rank) instead of alpha / rank (rsLoRA, Kalajdzievski 2023). */
  readonly rankStabilised: boolean
  /** Share of an adapter's inputs that is 0 in training; from 0, which is off, to below 1. */
  readonly dropout: number
  /** Names of modules or their ends; none for what PEFT adapts in the family. */
  readonly targets: readonly string[] | 'all-linear'
}

export interface AdaptedModule {
  readonly name: string
  readonly inputs: number
  readonly outputs: number
}

/** Added to a linear layer: scale * B(A(dropout(x))). */
export interface Adapter {
  /** [rank, inputs] */
  readonly a: Tensor
  /** [outputs, rank] */
  readonly b: Tensor
  readonly scale: number
  /** Null for none. The key, u32 [1], sets this module's apart from that of others. */
  readonly dropout: { readonly share: number; readonly key: Tensor } | null
}

const A = '.lora_A.weight'
const B = '.lora_B.weight'

export function isAdapterParameter(name: string): boolean {
  return name.endsWith(A) || name.endsWith(B)
}

/** Whether an adapter's parameter starts at 0, so that a new adapter changes nothing. */
export function startsAtZero(name: string): boolean {
  return name.endsWith(B)
}

export function adapterSpecs({ name, inputs, outputs }: AdaptedModule, { rank }: LoraOptions): ParameterSpec[] {
  return [
    { name: `${name}${A}`, shape: [rank, inputs] },
    { name: `${name}${B}`, shape: [outputs, rank] },
  ]
}

export function createAdapter(engine: Engine, module: string, tensor: (name: string) => Tensor, { rank, alpha, rankStabilised, dropout: share }: LoraOptions): Adapter {
  const scaling = alpha / (rankStabilised ? Math.sqrt(rank) : rank)
  return { a: tensor(`${module}${A}`), b: tensor(`${module}${B}`), scale: scaling, dropout: share > 0 ? { share, key: dropoutKey(engine, module) } : null }
}

function dropoutKey(engine: Engine, module: string): Tensor {
  const key = new Tensor(engine, [1], engine.reserve(4, 'dropout key'))
  engine.write(key.storage, Uint32Array.of(streamOf(module)))
  return key
}

/** x: [R, inputs], base: [R, outputs] -> base + the adapter of x. Without `dropoutKeys`, as in `TokenBatch`, nothing is dropped. */
export function addAdapter(base: Tensor, x: Tensor, adapter: Adapter, dropoutKeys: Tensor | null): Tensor {
  const input = dropoutKeys && adapter.dropout ? dropout(x, { ...adapter.dropout, rowKeys: dropoutKeys }) : x
  const inner = linear(input, adapter.a, null, { layout: 'out-in' })
  return linear(adapter.scale === 1 ? inner : scale(inner, adapter.scale), adapter.b, null, { layout: 'out-in', residual: base })
}
