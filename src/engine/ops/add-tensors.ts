import { type Tensor, formatShape } from '../tensor.ts'
import { addInto, passGradient } from './add.ts'

/** a, b of equal shapes -> a + b */
export function add(a: Tensor, b: Tensor): Tensor {
  const { engine } = a
  const { tape } = engine
  if (formatShape(a.shape) !== formatShape(b.shape)) throw new Error(`Cannot add ${formatShape(a.shape)} and ${formatShape(b.shape)}: need equal shapes`)
  const out = engine.empty(a.shape)
  engine.copy(a.storage, out.storage, a.size * 4)
  addInto(engine, b, out)

  tape.record([a, b], out, [], (gradient) => {
    // Both terms get the whole gradient, and only one may keep its memory.
    const da = tape.target(a)
    if (da?.accumulate) addInto(engine, gradient, da.tensor)
    else if (da) engine.copy(gradient.storage, da.tensor.storage, a.size * 4)
    passGradient(b, gradient)
  })
  return out
}
