import combineSource from '../../shaders/grad-norm-combine.wgsl?raw'
import normSource from '../../shaders/grad-norm.wgsl?raw'
import type { Engine } from '../engine/engine.ts'
import type { Kernel } from '../engine/kernel.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { Tensor } from '../engine/tensor.ts'
import { bindingWindows } from './windows.ts'

const square: Kernel = { name: 'grad-norm', source: normSource }
const combine: Kernel = { name: 'grad-norm-combine', source: combineSource }

/** Elements that one workgroup of 64 sums, to 64 partial sums. */
const GROUP_ELEMENTS = 4096
/** So few partial sums are added on the CPU, in float64: 2 KiB to read back. */
const READ_PARTIALS = 256
/** The exponent that marks a part with a NaN or an infinity. */
const NOT_FINITE = 255

export interface SquaredNorm {
  /** Sum of squares of all gradients; finite in float64 for any finite float32 gradients. */
  readonly sumSquares: number
  readonly finite: boolean
}

interface Dispatch {
  readonly kernel: Kernel
  readonly constants: Readonly<Record<string, number>>
  readonly bindings: readonly Tensor[]
  readonly groups: number
}

/**
 * Squared norm of the flat gradients in fixed order: the same bits on the same adapter, whoever computes.
 * Each partial sum carries its own power of two, so large gradients do not overflow nor do small ones vanish when squared.
 */
export class GradNorm {
  readonly #engine: Engine
  readonly #dispatches: readonly Dispatch[]
  readonly #result: Tensor

  constructor(engine: Engine, parameters: FlatParameters) {
    this.#engine = engine
    const { dispatches, result } = plan(engine, parameters)
    this.#dispatches = dispatches
    this.#result = result
  }

  /** Enqueues the sums and reads them: [partials] pairs of (float bits, exponent + 127). */
  async read(): Promise<SquaredNorm> {
    this.enqueue()
    const pairs = new Uint32Array(await this.#engine.readBytes(this.#result.storage, this.#result.size * 4))
    const sums = new Float32Array(pairs.buffer)
    let sumSquares = 0
    let finite = true
    for (let index = 0; index < pairs.length; index += 2) {
      const exponent = pairs[index + 1] ?? 0
      if (exponent === NOT_FINITE) finite = false
      else sumSquares += (sums[index] ?? 0) * 4 ** (exponent - 127)
    }
    return { sumSquares, finite: finite && Number.isFinite(sumSquares) }
  }

  enqueue(): void {
    for (const { kernel, constants, bindings, groups } of this.#dispatches) this.#engine.dispatch(kernel, constants, bindings, [groups])
  }
}

/** One dispatch for each window of the gradients, then as many rounds of 64 to 1 as it takes. */
function plan(engine: Engine, parameters: FlatParameters): { dispatches: Dispatch[]; result: Tensor } {
  let count = Math.ceil(parameters.elements / GROUP_ELEMENTS) * 64
  const partials = engine.reserve(count * 8, 'norm partials')
  const dispatches: Dispatch[] = bindingWindows(engine, parameters.elements).map(({ offset, length }) => {
    const groups = Math.ceil(length / GROUP_ELEMENTS)
    const gradients = new Tensor(engine, [length], engine.slice(parameters.gradients, offset * 4, length * 4))
    const sums = new Tensor(engine, [groups * 64, 2], engine.slice(partials, (offset / GROUP_ELEMENTS) * 512, groups * 512))
    return { kernel: square, constants: { VECTORS: length / 4, PARTIALS: groups * 64 }, bindings: [gradients, sums], groups }
  })
  let result = new Tensor(engine, [count, 2], partials)
  while (count > READ_PARTIALS) {
    const combined = Math.ceil(count / 64)
    const next = new Tensor(engine, [combined, 2], engine.reserve(combined * 8, 'norm partials'))
    dispatches.push({
      kernel: combine,
      constants: { COUNT: count, COMBINED: combined },
      bindings: [result, next],
      groups: Math.ceil(combined / 64),
    })
    result = next
    count = combined
  }
  return { dispatches, result }
}
