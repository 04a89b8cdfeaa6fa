import { normalArray } from '../base/random.ts'
import type { Engine } from '../engine/engine.ts'
import { attention } from '../engine/ops/attention.ts'
import { crossEntropyHead } from '../engine/ops/cross-entropy.ts'
import { linear } from '../engine/ops/linear.ts'
import { createParameters } from '../engine/parameters.ts'
import type { Parameter } from '../engine/tensor.ts'
import { IGNORED } from '../nn/targets.ts'
import type { SelfTestResult } from '../protocol/room-messages.ts'
import { type ReferenceInputs, referenceNetwork, type ReferenceResult, type ReferenceShape } from './self-test-reference.ts'

/** Multiples of no tile, so that guarded tails are computed too. */
const SHAPE: ReferenceShape = { batch: 2, length: 13, heads: 3, headDim: 6, inputs: 11, vocab: 37 }
/** Far above float32 rounding over these sizes, far below what a wrong kernel gives. */
const TOLERANCE = 1e-4
const NAMES = ['x', 'weight', 'bias', 'head'] as const

/**
 * Computes a small network's loss and gradients (matmul, attention, cross-entropy) on this adapter and compares them with float64 (J4).
 * Reserves a little memory for the engine's life.
 */
export async function runSelfTest(engine: Engine): Promise<SelfTestResult> {
  const inputs = makeInputs(SHAPE)
  const worstError = compare(await runNetwork(engine, SHAPE, inputs), referenceNetwork(SHAPE, inputs))
  return { passed: worstError < TOLERANCE, worstError }
}

interface GpuResult {
  readonly loss: number
  readonly gradients: Readonly<Record<(typeof NAMES)[number], Float32Array>>
}

function makeInputs({ batch, length, heads, headDim, inputs, vocab }: ReferenceShape): ReferenceInputs {
  const rows = batch * length
  const width = heads * headDim
  const draw = (name: string, size: number) => normalArray(1, `self-test ${name}`, size, 0.5)
  const targets = Int32Array.from({ length: rows }, (_, row) => (row % 5 === 3 ? IGNORED : (row * 7) % vocab))
  return {
    x: draw('x', rows * inputs),
    weight: draw('weight', inputs * 3 * width),
    bias: draw('bias', 3 * width),
    head: draw('head', vocab * width),
    targets,
  }
}

async function runNetwork(engine: Engine, shape: ReferenceShape, inputs: ReferenceInputs): Promise<GpuResult> {
  const { batch, length, heads, headDim, vocab } = shape
  const rows = batch * length
  const width = heads * headDim
  const shapes = { x: [rows, shape.inputs], weight: [shape.inputs, 3 * width], bias: [3 * width], head: [vocab, width] }
  const { byName } = createParameters(
    engine,
    NAMES.map((name) => ({ name, shape: shapes[name] })),
  )
  const parameter = (name: (typeof NAMES)[number]): Parameter => {
    const found = byName.get(name)
    if (!found) throw new Error(`Cannot run the self-test: parameter ${name} is missing`)
    return found
  }
  for (const name of NAMES) engine.write(parameter(name).storage, inputs[name])
  using _scope = engine.scope()
  const lossSum = engine.upload(new Float32Array(1), [1])
  const qkv = linear(parameter('x'), parameter('weight'), parameter('bias'), { layout: 'in-out' })
  const mixed = attention(qkv, { batch, length, heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim) })
  engine.tape.backward(crossEntropyHead(mixed, parameter('head'), engine.upload(inputs.targets, [rows]), lossSum))
  const [loss, x, weight, bias, head] = await Promise.all([lossSum.read(), ...NAMES.map((name) => parameter(name).gradient.read())])
  if (!loss || !x || !weight || !bias || !head) throw new Error('Cannot run the self-test: a result is missing')
  return { loss: loss[0] ?? Number.NaN, gradients: { x, weight, bias, head } }
}

/** Largest difference of a gradient, relative to that tensor's largest value, or of the loss; NaN counts as infinite. */
function compare(gpu: GpuResult, reference: ReferenceResult): number {
  const errors = [Math.abs(gpu.loss - reference.loss) / Math.abs(reference.loss)]
  for (const name of NAMES) {
    const expected = reference.gradients[name]
    const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    for (const [index, value] of expected.entries()) errors.push(Math.abs((gpu.gradients[name][index] ?? Number.NaN) - value) / largest)
  }
  return errors.reduce((worst, error) => Math.max(worst, Number.isNaN(error) ? Number.POSITIVE_INFINITY : error), 0)
}
