import backwardSource from '../../../shaders/gelu-backward.wgsl?raw'
import forwardSource from '../../../shaders/gelu.wgsl?raw'
import { type Engine, foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { Tensor } from '../tensor.ts'
import { passGradient } from './add.ts'

const forward: Kernel = { name: 'gelu', source: forwardSource }
const backward: Kernel = { name: 'gelu-backward', source: backwardSource }

/** By tanh, as GPT-2; or exact, by the normal distribution. */
export type Gelu = 'gelu-tanh' | 'gelu'

/** x -> GELU of each element (Hendrycks and Gimpel 2016); `linear` has it fused, for where nothing comes between. */
export function gelu(x: Tensor, kind: Gelu): Tensor {
  const { engine } = x
  const out = engine.empty(x.shape)
  engine.dispatch(forward, { COUNT: x.size, EXACT: kind === 'gelu' ? 1 : 0 }, [x, out], foldedGrid(Math.ceil(x.size / 64)))
  engine.tape.record([x], out, [], (gradient) => {
    const dx = timesGeluDerivative(engine, gradient, { kind, pre: x })
    passGradient(x, dx)
    dx.release()
  })
  return out
}

/** gradient times the derivative of GELU at `pre`, as a new tensor. */
export function timesGeluDerivative(engine: Engine, gradient: Tensor, { kind, pre }: { readonly kind: Gelu; readonly pre: Tensor }): Tensor {
  const out = engine.empty(pre.shape)
  engine.dispatch(backward, { COUNT: pre.size, EXACT: kind === 'gelu' ? 1 : 0 }, [gradient, pre, out], foldedGrid(Math.ceil(pre.size / 64)))
  return out
}
