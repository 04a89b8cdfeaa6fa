import source from '../../../shaders/column-sum.wgsl?raw'
import type { Engine } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { Tensor } from '../tensor.ts'
import type { GradientTarget } from '../tape.ts'

const kernel: Kernel = { name: 'column-sum', source }

/** Rows that one invocation adds up; more are split over a second pass, which also keeps rounding small. */
const PART_ROWS = 64

/** x: [rows, columns] -> target [columns] (+)= sums over rows, without atomics: the same bits twice. */
export function columnSum(engine: Engine, x: Tensor, columns: number, { tensor, accumulate }: GradientTarget): void {
  const rows = x.size / columns
  const parts = Math.ceil(rows / PART_ROWS)
  const groups = Math.ceil(columns / 64)
  const last = { COLUMNS: columns, PARTS: 1, ACCUMULATE: accumulate ? 1 : 0 }
  if (parts <= 1) return engine.dispatch(kernel, { ROWS: rows, ...last }, [x, tensor], [groups])
  const partial = engine.empty([parts, columns])
  engine.dispatch(kernel, { ROWS: rows, COLUMNS: columns, PARTS: parts, ACCUMULATE: 0 }, [x, partial], [groups, parts])
  engine.dispatch(kernel, { ROWS: parts, ...last }, [partial, tensor], [groups])
  partial.release()
}
