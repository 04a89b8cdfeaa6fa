import type { GateActivation } from '../../engine/ops/gated.ts'
import type { Gelu } from '../../engine/ops/gelu.ts'
import type { RotaryConfig } from './rotary-config.ts'

/** Sizes that every family has. */
export interface ModelSizes {
  readonly vocabSize: number
  /** Longest sequence. */
  readonly positions: number
  /** Of the residual stream. */
  readonly width: number
  readonly layers: number
  readonly heads: number
  /** Key and value heads; each serves heads / kvHeads queries. */
  readonly kvHeads: number
  readonly headDim: number
  /** Width of the MLP's hidden layer. */
  readonly innerWidth: number
  /** Standard deviation of initial weights. */
  readonly initializerRange: number
}

/** Hugging Face's names: of a layer within `blocks`.N, or without the prefix of the file. */
export interface DecoderNames {
  readonly embedding: string
  readonly blocks: string
  readonly finalNorm: string
  readonly head: string
  readonly norm1: string
  readonly norm2: string
  /** Three projections, or one with query, key and value of each head side by side. */
  readonly qkv: { readonly query: string; readonly key: string; readonly value: string } | { readonly fused: string }
  readonly attentionOut: string
  readonly queryNorm: string
  readonly keyNorm: string
  /** Of a gated MLP. */
  readonly gate: string
  readonly up: string
  readonly down: string
}

/** A decoder with rotary positions, as a description of switches; weights are [out, in]. */
export interface DecoderConfig extends ModelSizes {
  readonly kind: 'decoder'
  readonly names: DecoderNames
  readonly norm: 'rms' | 'layer'
  readonly epsilon: number
  readonly rotary: RotaryConfig
  readonly qkvBias: boolean
  readonly attentionOutBias: boolean
  /** RMS norm of each query and key head before the rotation. */
  readonly queryKeyNorm: boolean
  /**
   * What the MLP reads: the normalised sum of input and attention, the normalised input, or what the attention read, which is
   * the one norm of the block.
   */
  readonly residual: 'serial' | 'parallel' | 'parallel-shared-norm'
  readonly mlp: { readonly kind: 'gated'; readonly activation: GateActivation } | { readonly kind: 'plain'; readonly activation: Gelu }
  readonly mlpBias: boolean
  /** Whether the head is the token embedding. */
  readonly tied: boolean
}
