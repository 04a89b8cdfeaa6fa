import { type Tensor, formatShape } from '../tensor.ts'
import { passGradient } from './add.ts'
import { columnSum } from './column-sum.ts'
import { type Gelu, timesGeluDerivative } from './gelu.ts'
import { matmul } from './matmul.ts'

export interface LinearOptions {
  /** `in-out`: weight [K, N], as Conv1D; `out-in`: weight [N, K], as torch's Linear. */
  readonly layout: 'in-out' | 'out-in'
  readonly activation?: 'none' | Gelu
  /** [R, N], added after the activation. */
  readonly residual?: Tensor
}

/** x: [R, K], weight [K, N] or [N, K], bias [N] -> activation(x W + bias) + residual: [R, N] */
export function linear(x: Tensor, weight: Tensor, bias: Tensor | null, options: LinearOptions): Tensor {
  const { engine } = x
  const { tape } = engine
  const { residual } = options
  const inOut = options.layout === 'in-out'
  const { rows, inner, columns } = sizes(x, weight, bias, inOut)
  const out = engine.empty([rows, columns])
  const activation = options.activation && options.activation !== 'none' ? { kind: options.activation, pre: engine.empty([rows, columns]) } : null
  matmul(engine, { form: inOut ? 'NN' : 'NT', m: rows, n: columns, k: inner, a: x, b: weight, out, bias, activation, residual: residual ?? null })

  const inputs = [x, weight, ...(bias ? [bias] : []), ...(residual ? [residual] : [])]
  tape.record(inputs, out, activation ? [activation.pre] : [], (gradient) => {
    const dPre = activation ? timesGeluDerivative(engine, gradient, activation) : gradient
    const dWeight = tape.target(weight)
    if (dWeight) {
      const [a, b, m, n] = inOut ? ([x, dPre, inner, columns] as const) : ([dPre, x, columns, inner] as const)
      matmul(engine, { form: 'TN', m, n, k: rows, a, b, out: dWeight.tensor, accumulate: dWeight.accumulate })
    }
    const dBias = bias && tape.target(bias)
    if (dBias) columnSum(engine, dPre, columns, dBias)
    const dx = tape.target(x)
    if (dx) matmul(engine, { form: inOut ? 'NT' : 'NN', m: rows, n: inner, k: columns, a: dPre, b: weight, out: dx.tensor, accumulate: dx.accumulate })
    if (dPre !== gradient) dPre.release()
    if (residual) passGradient(residual, gradient)
  })
  return out
}

function sizes(x: Tensor, weight: Tensor, bias: Tensor | null, inOut: boolean): { rows: number; inner: number; columns: number } {
  const [rows = 0, inner = 0] = x.shape
  const [first = 0, second = 0] = weight.shape
  const [weightInner, columns] = inOut ? [first, second] : [second, first]
  if (x.shape.length !== 2 || weight.shape.length !== 2)
    throw new Error(`Cannot apply a weight of ${formatShape(weight.shape)} to ${formatShape(x.shape)}: need two dimensions each`)
  if (weightInner !== inner) throw new Error(`Cannot matmul ${formatShape(x.shape)} by ${formatShape(weight.shape)}: ${inner} is not ${weightInner}`)
  if (bias && bias.size !== columns) throw new Error(`Cannot add a bias of ${formatShape(bias.shape)} to ${columns} columns: need [${columns}]`)
  return { rows, inner, columns }
}
