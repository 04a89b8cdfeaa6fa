import dkvRaggedSource from '../../../shaders/attention-dkv-ragged.wgsl?raw'
import dkvSource from '../../../shaders/attention-dkv.wgsl?raw'
import dqRaggedSource from '../../../shaders/attention-dq-ragged.wgsl?raw'
import dqSource from '../../../shaders/attention-dq.wgsl?raw'
import forwardRaggedSource from '../../../shaders/attention-forward-ragged.wgsl?raw'
import forwardSource from '../../../shaders/attention-forward.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'

interface Kernels {
  readonly forward: Kernel
  readonly dq: Kernel
  readonly dkv: Kernel
}

const vectors: Kernels = {
  forward: { name: 'attention-forward', source: forwardSource },
  dq: { name: 'attention-dq', source: dqSource },
  dkv: { name: 'attention-dkv', source: dkvSource },
}

const ragged: Kernels = {
  forward: { name: 'attention-forward-ragged', source: forwardRaggedSource },
  dq: { name: 'attention-dq-ragged', source: dqRaggedSource },
  dkv: { name: 'attention-dkv-ragged', source: dkvRaggedSource },
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
}

/**
 * Causal attention. qkv: [B * T, (H + 2 KV) * D], queries, keys, values side by side -> [B * T, H * D].
 * Saves the log-sum-exp of each row's scores instead of the T x T weights, as FlashAttention (Dao et al. 2022).
 */
export function attention(qkv: Tensor, options: AttentionOptions): Tensor {
  const { engine } = qkv
  const { batch, length, heads, kvHeads, headDim, scale } = options
  checkShape(qkv, options)
  const fits = headDim % 4 === 0
  const kernels = fits ? vectors : ragged
  const size = fits ? { D4: headDim / 4 } : { HEAD_DIM: headDim }
  const constants = { BATCH: batch, LENGTH: length, HEADS: heads, KV_HEADS: kvHeads, SCALE: scale, ...size }
  const grid = (rows: number) => foldedGrid(Math.ceil(rows / 32))
  const out = engine.empty([batch * length, heads * headDim])
  const lse = engine.empty([batch, heads, length])
  engine.dispatch(kernels.forward, constants, [qkv, out, lse], grid(batch * heads * length))

  engine.tape.record([qkv], out, [lse], (gradient) => {
    const dqkv = engine.tape.target(qkv)
    if (!dqkv) return
    const variant = { ...constants, ACCUMULATE: dqkv.accumulate ? 1 : 0 }
    const delta = engine.empty([batch, heads, length])
    engine.dispatch(kernels.dq, variant, [qkv, out, gradient, lse, dqkv.tensor, delta], grid(batch * heads * length))
    engine.dispatch(kernels.dkv, variant, [qkv, gradient, lse, delta, dqkv.tensor], grid(batch * kvHeads * length))
    delta.release()
  })
  return out
}

function checkShape(qkv: Tensor, { batch, length, heads, kvHeads, headDim }: AttentionOptions): void {
  if (heads % kvHeads !== 0) throw new Error(`Cannot share ${kvHeads} key heads among ${heads} query heads: need a divisor`)
  const need = [batch * length, (heads + 2 * kvHeads) * headDim]
  if (qkv.shape[0] !== need[0] || qkv.shape[1] !== need[1]) throw new Error(`Cannot attend over ${formatShape(qkv.shape)}: need ${formatShape(need)}`)
}
