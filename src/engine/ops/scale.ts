import source from '../../../shaders/scale.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { Tensor } from '../tensor.ts'

const kernel: Kernel = { name: 'scale', source }

/** x -> factor * x */
export function scale(x: Tensor, factor: number): Tensor {
  const { engine } = x
  const { tape } = engine
  const out = engine.empty(x.shape)
  const constants = { COUNT: x.size, FACTOR: factor }
  const grid = foldedGrid(Math.ceil(x.size / 64))
  engine.dispatch(kernel, { ...constants, ACCUMULATE: 0 }, [x, out], grid)

  tape.record([x], out, [], (gradient) => {
    const dx = tape.target(x)
    if (dx) engine.dispatch(kernel, { ...constants, ACCUMULATE: dx.accumulate ? 1 : 0 }, [gradient, dx.tensor], grid)
  })
  return out
}
