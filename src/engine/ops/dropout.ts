import source from '../../../shaders/dropout.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'

const kernel: Kernel = { name: 'dropout', source }

export interface DropoutOptions {
  /** Of elements that become 0; above 0 and below 1. */
  readonly share: number
  /** u32 [B, 2]: two words for each row of T positions. */
  readonly rowKeys: Tensor
  /** u32 [1]: sets uses apart that have the same rows. */
  readonly key: Tensor
}

/**
 * x: [B * T, C] -> x with a share of its elements 0 and the others divided by the rest of the share (Srivastava et al. 2014).
 * Which ones depends on the row's key, the use's key, position and column alone, so whoever computes a row drops the same.
 */
export function dropout(x: Tensor, { share, rowKeys, key }: DropoutOptions): Tensor {
  const { engine } = x
  const { tape } = engine
  const [rows = 0, columns = 0] = x.shape
  const batch = rowKeys.size / 2
  if (rows % batch !== 0) throw new Error(`Cannot drop of ${formatShape(x.shape)}: need rows for each of ${batch} keys`)
  const out = engine.empty(x.shape)
  const constants = {
    ROWS: rows,
    COLUMNS: columns,
    LENGTH: rows / batch,
    KEYS: rowKeys.size,
    THRESHOLD: Math.min(2 ** 32 - 1, Math.round(share * 2 ** 32)),
    FACTOR: 1 / (1 - share),
  }
  const grid = foldedGrid(Math.ceil((rows * Math.ceil(columns / 4)) / 64))
  engine.dispatch(kernel, { ...constants, ACCUMULATE: 0 }, [x, rowKeys, key, out], grid)

  tape.record([x], out, [], (gradient) => {
    const dx = tape.target(x)
    if (dx) engine.dispatch(kernel, { ...constants, ACCUMULATE: dx.accumulate ? 1 : 0 }, [gradient, rowKeys, key, dx.tensor], grid)
  })
  return out
}
