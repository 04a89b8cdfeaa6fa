import dkvLaneSource from '../../../shaders/attention-dkv-lane.wgsl?raw'
import dkvSharedSource from '../../../shaders/attention-dkv-shared.wgsl?raw'
import dkvSubgroupSource from '../../../shaders/attention-dkv-subgroup.wgsl?raw'
import dqLaneSource from '../../../shaders/attention-dq-lane.wgsl?raw'
import dqSharedSource from '../../../shaders/attention-dq-shared.wgsl?raw'
import dqSubgroupSource from '../../../shaders/attention-dq-subgroup.wgsl?raw'
import forwardLaneSource from '../../../shaders/attention-forward-lane.wgsl?raw'
import forwardSharedSource from '../../../shaders/attention-forward-shared.wgsl?raw'
import forwardSubgroupSource from '../../../shaders/attention-forward-subgroup.wgsl?raw'
import { type Engine, foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import type { Documents } from './document-bounds.ts'

interface Design {
  readonly forward: Kernel
  readonly dq: Kernel
  readonly dkv: Kernel
  /** Workgroups for the rows of so many heads. */
  readonly groups: (heads: number, length: number) => number
}

const lane: Design = {
  forward: { name: 'attention-forward-lane', source: forwardLaneSource },
  dq: { name: 'attention-dq-lane', source: dqLaneSource },
  dkv: { name: 'attention-dkv-lane', source: dkvLaneSource },
  groups: (heads, length) => Math.ceil((heads * length) / 32),
}

const subgroup: Design = {
  forward: { name: 'attention-forward-subgroup', source: forwardSubgroupSource },
  dq: { name: 'attention-dq-subgroup', source: dqSubgroupSource },
  dkv: { name: 'attention-dkv-subgroup', source: dkvSubgroupSource },
  groups: (heads, length) => heads * Math.ceil(length / 16),
}

const shared: Design = {
  forward: { name: 'attention-forward-shared', source: forwardSharedSource },
  dq: { name: 'attention-dq-shared', source: dqSharedSource },
  dkv: { name: 'attention-dkv-shared', source: dkvSharedSource },
  groups: (heads, length) => heads * Math.ceil(length / 64),
}

export interface AttentionOptions {
  readonly batch: number
  readonly length: number
  readonly heads: number
  /** Divides `heads`; each key and value head serves heads / kvHeads queries. */
  readonly kvHeads: number
  readonly headDim: number
  /** Usually 1 / sqrt(headDim). */
  readonly scale: number
  /** Of packed rows: tokens see their own document alone. Null or missing where every row is one. */
  readonly documents?: Documents | null
}

/**
 * Causal attention. qkv: [B * T, (H + 2 KV) * D], queries, keys, values side by side -> [B * T, H * D].
 * Saves the log-sum-exp of each row's scores instead of the T x T weights, as FlashAttention (Dao et al. 2022).
 */
export function attention(qkv: Tensor, options: AttentionOptions): Tensor {
  const { engine } = qkv
  const { batch, length, heads, kvHeads, headDim, scale, documents = null } = options
  checkShape(qkv, options)
  const design = choose(engine, options)
  const vectors = Math.ceil(headDim / 4)
  const tile = design === shared ? { TILE: Math.min(32, Math.floor(MAX_TILE_VECTORS / vectors)) } : {}
  const constants = { BATCH: batch, LENGTH: length, HEADS: heads, KV_HEADS: kvHeads, SCALE: scale, HEAD_DIM: headDim, D4: vectors, PACKED: documents ? 1 : 0, ...tile }
  const bounds = documents?.bounds ?? engine.unused.read
  const grid = (perRow: number) => foldedGrid(design.groups(batch * perRow, length))
  const out = engine.empty([batch * length, heads * headDim])
  const lse = engine.empty([batch, heads, length])
  engine.dispatch(design.forward, constants, [qkv, out, lse, bounds], grid(heads))

  engine.tape.record([qkv], out, [lse], (gradient) => {
    const dqkv = engine.tape.target(qkv)
    if (!dqkv) return
    const variant = { ...constants, ACCUMULATE: dqkv.accumulate ? 1 : 0 }
    const delta = engine.empty([batch, heads, length])
    engine.dispatch(design.dq, variant, [qkv, out, gradient, lse, dqkv.tensor, delta, bounds], grid(heads))
    engine.dispatch(design.dkv, variant, [qkv, gradient, lse, delta, dqkv.tensor, bounds], grid(kvHeads))
    delta.release()
  })
  return out
}

/** Vectors of one of two tiles that fit in the 16 KiB of workgroup memory that every GPU has, a tile's row sums included. */
const MAX_TILE_VECTORS = 480
/** Multiply-adds below which the subgroup kernels' compile time is not worth their speed. */
const MIN_SUBGROUP_WORK = 2 ** 19

/** The same choice for the same sizes on the same profile, so that a run gives the same bits twice. */
function choose({ profile, quads }: Engine, { batch, length, heads, headDim }: AttentionOptions): Design {
  if (profile === 'shared') return headDim <= 4 * MAX_TILE_VECTORS ? shared : lane
  return quads && batch * heads * length * length * headDim >= MIN_SUBGROUP_WORK ? subgroup : lane
}

function checkShape(qkv: Tensor, { batch, length, heads, kvHeads, headDim }: AttentionOptions): void {
  if (heads % kvHeads !== 0) throw new Error(`Cannot share ${kvHeads} key heads among ${heads} query heads: need a divisor`)
  const need = [batch * length, (heads + 2 * kvHeads) * headDim]
  if (qkv.shape[0] !== need[0] || qkv.shape[1] !== need[1]) throw new Error(`Cannot attend over ${formatShape(qkv.shape)}: need ${formatShape(need)}`)
}
