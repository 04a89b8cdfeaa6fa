import laneSource from '../../../shaders/matmul-lane.wgsl?raw'
import raggedSource from '../../../shaders/matmul-ragged.wgsl?raw'
import sharedSource from '../../../shaders/matmul-shared.wgsl?raw'
import subgroupSource from '../../../shaders/matmul-subgroup.wgsl?raw'
import type { Engine } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'

const lane: Kernel = { name: 'matmul-lane', source: laneSource }
const subgroup: Kernel = { name: 'matmul-subgroup', source: subgroupSource }
const ragged: Kernel = { name: 'matmul-ragged', source: raggedSource }
const shared: Kernel = { name: 'matmul-shared', source: sharedSource }

/** NN: a [m, k], b [k, n]; NT: a [m, k], b [n, k]; TN: a [k, m], b [k, n]. */
export type MatmulForm = 'NN' | 'NT' | 'TN'

export interface Matmul {
  readonly form: MatmulForm
  readonly m: number
  readonly n: number
  readonly k: number
  readonly a: Tensor
  readonly b: Tensor
  /** [m, n]; must not be any of the tensors that are read. */
  readonly out: Tensor
  /** [n], added to each row. */
  readonly bias?: Tensor | null
  /** GELU of the result, by tanh or exact; the result itself is kept in `pre` [m, n]. */
  readonly activation?: { readonly kind: 'gelu-tanh' | 'gelu'; readonly pre: Tensor } | null
  /** [m, n], added last. */
  readonly residual?: Tensor | null
  /** Adds to what `out` holds. */
  readonly accumulate?: boolean
}

const FORMS: Readonly<Record<MatmulForm, number>> = { NN: 0, NT: 1, TN: 2 }
const ACTIVATIONS = { 'gelu-tanh': 1, gelu: 2 } as const

/** Enqueues out = a b (in one of three forms) with its epilogue fused into the store. */
export function matmul(engine: Engine, matmul: Matmul): void {
  const { m, n, k, a, b, out } = matmul
  checkSize(a, m * k, 'a', matmul)
  checkSize(b, k * n, 'b', matmul)
  checkSize(out, m * n, 'out', matmul)
  if (out.size === 0) return
  const { kernel, grid, width } = choose(engine, matmul)
  const { residual = null, activation = null } = matmul
  const unit = width === 4 ? 'VECTORS' : 'ELEMENTS'
  const extent = (tensor: Tensor | null | undefined): number => (tensor ? tensor.size / width : 4 / width)
  engine.dispatch(
    kernel,
    {
      M: m,
      N: n,
      K: k,
      [`BIAS_${unit}`]: extent(matmul.bias),
      [`ADDEND_${unit}`]: extent(residual),
      [`PRE_${unit}`]: extent(activation?.pre),
      FORM: FORMS[matmul.form],
      BIAS: matmul.bias ? 1 : 0,
      ADDEND: residual ? 1 : 0,
      ACTIVATION: activation ? ACTIVATIONS[activation.kind] : 0,
      ACCUMULATE: matmul.accumulate ? 1 : 0,
    },
    [a, b, out, matmul.bias ?? engine.unused.read, residual ?? engine.unused.read, activation?.pre ?? engine.unused.write],
    grid,
  )
}

/** The same choice for the same sizes on the same profile, so that a run gives the same bits twice. */
function choose(engine: Engine, { form, m, n, k }: Matmul): { kernel: Kernel; grid: readonly [number, number]; width: 1 | 4 } {
  if (engine.profile === 'shared') return { kernel: shared, grid: [Math.ceil(n / 32), Math.ceil(m / 32)], width: 1 }
  const vectors = n % 4 === 0 && (form === 'TN' ? m : k) % 4 === 0
  if (vectors && k % 4 === 0 && engine.quads && isWorthSubgroups(m, n, k)) {
    return { kernel: subgroup, grid: [Math.ceil(n / SUBGROUP_COLUMNS), Math.ceil(m / SUBGROUP_ROWS)], width: 4 }
  }
  if (vectors) return { kernel: lane, grid: [Math.ceil(n / 64), Math.ceil(m / 32)], width: 4 }
  return { kernel: ragged, grid: [Math.ceil(n / 32), Math.ceil(m / 32)], width: 1 }
}

const SUBGROUP_ROWS = 16
const SUBGROUP_COLUMNS = 64
/** Multiply-adds below which the larger kernel's compile time, some hundred milliseconds, is not worth its speed. */
const MIN_SUBGROUP_WORK = 2 ** 21

/** Twice as fast as the plain kernel, unless much of its tiles sticks out. */
function isWorthSubgroups(m: number, n: number, k: number): boolean {
  const covered = Math.ceil(m / SUBGROUP_ROWS) * SUBGROUP_ROWS * Math.ceil(n / SUBGROUP_COLUMNS) * SUBGROUP_COLUMNS
  return m * n * k >= MIN_SUBGROUP_WORK && covered <= 1.5 * m * n
}

function checkSize(tensor: Tensor, size: number, name: string, { form, m, n, k }: Matmul): void {
  if (tensor.size !== size) throw new Error(`Cannot matmul ${form} m=${m} n=${n} k=${k}: ${name} is ${formatShape(tensor.shape)}, need ${size} elements`)
}
