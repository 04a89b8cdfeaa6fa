import source from '../../../shaders/add.wgsl?raw'
import { type Engine, foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { Tensor } from '../tensor.ts'

const kernel: Kernel = { name: 'add', source }

/** out += x, element by element. */
export function addInto(engine: Engine, x: Tensor, out: Tensor): void {
  if (x.size !== out.size) throw new Error(`Cannot add ${x.size} elements to ${out.size}: need equal sizes`)
  engine.dispatch(kernel, { COUNT: x.size }, [x, out], foldedGrid(Math.ceil(x.size / 64)))
}

/** Passes the gradient of a sum on to one of its terms. Call it last in a backward: `gradient` may be given away. */
export function passGradient(x: Tensor, gradient: Tensor): void {
  const { engine } = x
  if (engine.tape.adopt(x, gradient)) return
  const target = engine.tape.target(x)
  if (target) addInto(engine, gradient, target.tensor)
}
