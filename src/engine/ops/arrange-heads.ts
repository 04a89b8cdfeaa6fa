import source from '../../../shaders/arrange-heads.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { GradientTarget } from '../tape.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import type { Documents } from './document-bounds.ts'

const kernel: Kernel = { name: 'arrange-heads', source }

/** Heads within the columns of a projection [B * T, columns]. */
export interface HeadColumns {
  readonly tensor: Tensor
  /** Column of the first head. */
  readonly start: number
  /** Columns from one head to the next. */
  readonly step: number
}

/** Cosines and sines by position, for the first 2 * half elements of each head. */
export interface RotaryTable {
  /** [positions, half, 2] */
  readonly values: Tensor
  readonly positions: number
  readonly half: number
}

export interface HeadLayout {
  readonly length: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  /** Of packed rows: positions count from the start of each document. */
  readonly documents?: Documents | null
}

/**
 * Rotary position embedding (Su et al. 2021), element d of a head paired with d + half, of queries and keys; elements from 2 * half
 * on and the values are copied. -> [B * T, (H + 2 KV) * D], queries, keys, values side by side, as `attention` reads them.
 * The projections may be columns of one tensor, which they must cover.
 */
export function arrangeHeads(queries: HeadColumns, keys: HeadColumns, values: HeadColumns, table: RotaryTable, layout: HeadLayout): Tensor {
  const { engine } = queries.tensor
  const { tape } = engine
  const { length, heads, kvHeads, headDim, documents = null } = layout
  const rows = queries.tensor.shape[0] ?? 0
  const stride = (heads + 2 * kvHeads) * headDim
  const parts = [
    { from: queries, count: heads, start: 0, half: table.half },
    { from: keys, count: kvHeads, start: heads * headDim, half: table.half },
    { from: values, count: kvHeads, start: (heads + kvHeads) * headDim, half: 0 },
  ]
  for (const { from, count } of parts) checkColumns(from, count, headDim, rows)
  if (length > table.positions) throw new Error(`Cannot rotate ${length} positions: the table has ${table.positions}`)
  if (2 * table.half > headDim) throw new Error(`Cannot rotate ${2 * table.half} elements of a head: it has ${headDim}`)
  const out = engine.empty([rows, stride])
  const shape = (count: number, half: number) => ({
    ROWS: rows,
    LENGTH: length,
    HEADS: count,
    HEAD_DIM: headDim,
    POSITIONS: table.positions,
    HALF: half,
    PACKED: documents ? 1 : 0,
  })
  const places = documents?.positions ?? engine.unused.read
  const grid = (count: number) => foldedGrid(Math.ceil((rows * count * headDim) / 64))
  for (const { from, count, start, half } of parts) {
    const columns = { ...side('SOURCE', from), ...side('TARGET', { tensor: out, start, step: headDim }) }
    engine.dispatch(kernel, { ...shape(count, half), ...columns, TRANSPOSED: 0, ACCUMULATE: 0 }, [from.tensor, table.values, out, places], grid(count))
  }

  tape.record([...new Set(parts.map(({ from }) => from.tensor))], out, [], (gradient) => {
    const targets = new Map<Tensor, GradientTarget | null>()
    for (const { from, count, start, half } of parts) {
      const known = targets.get(from.tensor)
      // Asked once for each tensor: its parts do not overlap, so the second overwrites as the first does.
      const target = known === undefined ? tape.target(from.tensor) : known
      targets.set(from.tensor, target)
      if (!target) continue
      const columns = { ...side('SOURCE', { tensor: gradient, start, step: headDim }), ...side('TARGET', { ...from, tensor: target.tensor }) }
      const variant = { TRANSPOSED: 1, ACCUMULATE: target.accumulate ? 1 : 0 }
      engine.dispatch(kernel, { ...shape(count, half), ...columns, ...variant }, [gradient, table.values, target.tensor, places], grid(count))
    }
  })
  return out
}

function side(name: 'SOURCE' | 'TARGET', { tensor, start, step }: HeadColumns): Record<string, number> {
  return { [`${name}_STRIDE`]: tensor.shape[1] ?? 0, [`${name}_START`]: start, [`${name}_STEP`]: step }
}

function checkColumns({ tensor, start, step }: HeadColumns, count: number, headDim: number, rows: number): void {
  const need = start + (count - 1) * step + headDim
  if (tensor.shape[0] !== rows || (tensor.shape[1] ?? 0) < need) {
    throw new Error(`Cannot arrange ${count} heads of ${headDim} from ${formatShape(tensor.shape)}: need [${rows}, at least ${need}]`)
  }
}
