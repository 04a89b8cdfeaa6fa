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

/** x: [R, C], weight, bias: [C] -> (x - mean) / sqrt(variance + epsilon) * weight + bias, row by row: [R, C] */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor | null, { epsilon }: { readonly epsilon: number }): Tensor {
  const { engine } = x
  const { tape } = engine
  const columns = weight.size
  const rows = x.size / columns
  if (x.shape.at(-1) !== columns || (bias && bias.size !== columns)) {
    throw new Error(
      `Cannot normalise ${formatShape(x.shape)}: weight is ${formatShape(weight.shape)} and bias ${bias ? formatShape(bias.shape) : 'absent'}, need [${x.shape.at(-1)}]`,
    )
  }
  const out = engine.empty(x.shape)
  const stats = engine.empty([rows, 2])
  const constants = { ROWS: rows, COLUMNS: columns, BIAS_ELEMENTS: bias ? columns : 4, EPSILON: epsilon, BIAS: bias ? 1 : 0 }
  engine.dispatch(forward, constants, [x, weight, bias ?? engine.unused.read, out, stats], [Math.ceil(rows / 32)])

  tape.record([x, weight, ...(bias ? [bias] : [])], out, [stats], (gradient) => {
    const dWeight = tape.target(weight)
    const dBias = bias && tape.target(bias)
    if (dWeight || dBias) {
      const parts = Math.ceil(rows / PART_ROWS)
      const weightParts = engine.empty([parts, columns])
      const biasParts = engine.empty([parts, columns])
      engine.dispatch(dWeightKernel, { ROWS: rows, COLUMNS: columns, PARTS: parts }, [gradient, x, stats, weightParts, biasParts], [Math.ceil(columns / 64), parts])
      if (dWeight) columnSum(engine, weightParts, columns, dWeight)
      if (dBias) columnSum(engine, biasParts, columns, dBias)
      weightParts.release()
      biasParts.release()
    }
    const dx = tape.target(x)
    if (dx) engine.dispatch(dxKernel, { ROWS: rows, COLUMNS: columns, ACCUMULATE: dx.accumulate ? 1 : 0 }, [gradient, x, weight, stats, dx.tensor], [Math.ceil(rows / 32)])
  })
  return out
}
