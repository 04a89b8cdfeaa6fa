import backwardSource from '../../../shaders/gated-backward.wgsl?raw'
import forwardSource from '../../../shaders/gated.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { GradientTarget } from '../tape.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import type { Gelu } from './gelu.ts'

const forward: Kernel = { name: 'gated', source: forwardSource }
const backward: Kernel = { name: 'gated-backward', source: backwardSource }

export type GateActivation = 'silu' | Gelu

const ACTIVATIONS: Readonly<Record<GateActivation, number>> = { silu: 0, 'gelu-tanh': 1, gelu: 2 }

/** gate, up: [R, C] -> activation(gate) * up: [R, C], the middle of a gated MLP (Shazeer 2020) */
export function gated(gate: Tensor, up: Tensor, activation: GateActivation): Tensor {
  const { engine } = gate
  const { tape } = engine
  if (formatShape(gate.shape) !== formatShape(up.shape)) throw new Error(`Cannot gate ${formatShape(up.shape)} by ${formatShape(gate.shape)}: need equal shapes`)
  const out = engine.empty(gate.shape)
  const constants = { COUNT: gate.size, ACTIVATION: ACTIVATIONS[activation] }
  const grid = foldedGrid(Math.ceil(gate.size / 64))
  engine.dispatch(forward, constants, [gate, up, out], grid)

  tape.record([gate, up], out, [], (gradient) => {
    // One kernel makes both; what nobody wants goes where nobody looks.
    const scratch = (): GradientTarget => ({ tensor: engine.empty(gate.shape), accumulate: false })
    const dGate = tape.target(gate) ?? scratch()
    const dUp = tape.target(up) ?? scratch()
    const variant = { ...constants, ACCUMULATE_GATE: dGate.accumulate ? 1 : 0, ACCUMULATE_UP: dUp.accumulate ? 1 : 0 }
    engine.dispatch(backward, variant, [gradient, gate, up, dGate.tensor, dUp.tensor], grid)
    if (!gate.requiresGrad) dGate.tensor.release()
    if (!up.requiresGrad) dUp.tensor.release()
  })
  return out
}
