import type { GateActivation } from '../../engine/ops/gated.ts'
import type { Gelu } from '../../engine/ops/gelu.ts'

/** Activations by the names of transformers' ACT2FN. */
export const GELUS: Readonly<Record<string, Gelu>> = {
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_fast: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
}

export const GATES: Readonly<Record<string, GateActivation>> = { silu: 'silu', swish: 'silu', ...GELUS }
