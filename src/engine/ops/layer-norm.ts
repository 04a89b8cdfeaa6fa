import dWeightSource from '../../../shaders/layer-norm-dweight.wgsl?raw'
import dxSource from '../../../shaders/layer-norm-dx.wgsl?raw'
import forwardSource from '../../../shaders/layer-norm-forward.wgsl?raw'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import { columnSum } from './column-sum.ts'

const forward: Kernel = { name: 'layer-norm-forward', source: forwardSource }
const dxKernel: Kernel = { name: 'layer-norm-dx', source: dxSource }
const dWeightKernel: Kernel = { name: 'layer-norm-dweight', source: dWeightSource }

/** Rows whose weight gradients one invocation adds up. */
const PART_ROWS = 32

export interface NormOptions {
  readonly epsilon: number
  /** Parts of a row that are normalised each by itself, as heads are; each has its own C weights, or all share C of them. */
  readonly parts?: number
}

/** x: [R, parts * C], weight, bias: [C] or [parts * C] -> (x - mean) / sqrt(variance + epsilon) * weight + bias: [R, parts * C] */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor | null, options: NormOptions): Tensor {
  return normalise(x, { weight, bias, centred: true }, options)
}

/** x: [R, parts * C], weight: [C] or [parts * C] -> x / sqrt(mean of squares + epsilon) * weight: [R, parts * C] (Zhang and Sennrich 2019) */
export function rmsNorm(x: Tensor, weight: Tensor, options: NormOptions): Tensor {
  return normalise(x, { weight, bias: null, centred: false }, options)
}

interface Norm {
  readonly weight: Tensor
  readonly bias: Tensor | null
  readonly centred: boolean
}

function normalise(x: Tensor, { weight, bias, centred }: Norm, { epsilon, parts = 1 }: NormOptions): Tensor {
  const { engine } = x
  const { tape } = engine
  const columns = (x.shape.at(-1) ?? 0) / parts
  const groups = weight.size / columns
  if ((groups !== 1 && groups !== parts) || (bias && bias.size !== weight.size)) {
    throw new Error(`Cannot normalise ${formatShape(x.shape)}: weight is ${formatShape(weight.shape)} and bias ${bias ? formatShape(bias.shape) : 'absent'}, need [${columns}]`)
  }
  const rows = x.size / columns
  const shape = { ROWS: rows, COLUMNS: columns, GROUPS: groups, CENTRED: centred ? 1 : 0 }
  const out = engine.empty(x.shape)
  const stats = engine.empty([rows, 2])
  const constants = { ...shape, BIAS_ELEMENTS: bias ? bias.size : 4, EPSILON: epsilon, BIAS: bias ? 1 : 0 }
  engine.dispatch(forward, constants, [x, weight, bias ?? engine.unused.read, out, stats], [Math.ceil(rows / 32)])

  tape.record([x, weight, ...(bias ? [bias] : [])], out, [stats], (gradient) => {
    addWeightGradients({ weight, bias }, { x, stats, gradient, rows, columns })
    const dx = tape.target(x)
    if (dx) engine.dispatch(dxKernel, { ...shape, ACCUMULATE: dx.accumulate ? 1 : 0 }, [gradient, x, weight, stats, dx.tensor], [Math.ceil(rows / 32)])
  })
  return out
}

interface NormBackward {
  readonly x: Tensor
  readonly stats: Tensor
  readonly gradient: Tensor
  readonly rows: number
  readonly columns: number
}

function addWeightGradients({ weight, bias }: Pick<Norm, 'weight' | 'bias'>, { x, stats, gradient, rows, columns }: NormBackward): void {
  const { engine } = x
  const dWeight = engine.tape.target(weight)
  const dBias = bias && engine.tape.target(bias)
  if (!dWeight && !dBias) return
  const width = weight.size
  const groups = width / columns
  const parts = Math.ceil(rows / groups / PART_ROWS)
  const weightParts = engine.empty([parts, width])
  const biasParts = engine.empty([parts, width])
  const shape = { ROWS: rows, COLUMNS: columns, GROUPS: groups, PARTS: parts }
  engine.dispatch(dWeightKernel, shape, [gradient, x, stats, weightParts, biasParts], [Math.ceil(width / 64), parts])
  if (dWeight) columnSum(engine, weightParts, width, dWeight)
  if (dBias) columnSum(engine, biasParts, width, dBias)
  weightParts.release()
  biasParts.release()
}
