import { expect } from 'vitest'
import type { Engine } from '../engine.ts'
import { Parameter, Tensor, elementCount } from '../tensor.ts'

/** One input of an op under test. */
export interface Input {
  readonly shape: readonly number[]
  readonly values: Float64Array
  /** Inputs whose gradient is not checked: ids, targets. */
  readonly fixed?: boolean
}

export interface OpCase {
  readonly inputs: readonly Input[]
  /** Runs the op. */
  readonly run: (inputs: readonly Tensor[]) => Tensor
  /** The same in float64, straight from the definition. */
  readonly reference: (inputs: readonly Float64Array[]) => Float64Array
  /** Largest error, relative to the largest value of the tensor. */
  readonly tolerance?: number
}

/** Deterministic values in (-1, 1). */
export function randomValues(count: number, seed: number): Float64Array {
  let state = (seed * 2654435761 + 12345) >>> 0
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.fround((state / 2 ** 32) * 2 - 1)
  })
}

export function randomInput(shape: readonly number[], seed: number): Input {
  return { shape, values: randomValues(elementCount(shape), seed) }
}

/**
 * Compares an op's output with its reference, and the gradient of a random projection of the output with central
 * differences of the reference. Each input is tried as an activation and as a parameter whose gradient slot already
 * holds something.
 */
export async function checkOp(engine: Engine, { inputs, run, reference, tolerance = 2e-5 }: OpCase): Promise<void> {
  const expected = reference(inputs.map(({ values }) => values))
  const projection = randomValues(expected.length, 99)
  const project = (values: readonly Float64Array[]): number => reference(values).reduce((sum, value, index) => sum + value * (projection[index] ?? 0), 0)
  for (const asParameters of [false, true]) {
    using _scope = engine.scope()
    const tensors = inputs.map((input, index) => makeTensor(engine, input, asParameters, index))
    const out = run(tensors)
    const got = out.read()
    seedGradient(engine, out, projection)
    const gradients = tensors.map((tensor) => (tensor instanceof Parameter ? tensor.gradient : tensor.grad))
    expectClose(await got, expected, tolerance, 'output')
    for (const [index, input] of inputs.entries()) {
      if (input.fixed) continue
      const gradient = gradients[index]
      if (!gradient) throw new Error(`input ${index} got no gradient`)
      const before = asParameters ? startOf(input.values.length) : new Float64Array(input.values.length)
      const at = sampledIndices(input.values.length)
      const numeric = centralDifferences(
        project,
        inputs.map(({ values }) => values),
        index,
        at,
      )
      const got = await gradient.read()
      const want = numeric.map((value, sample) => value + (before[at[sample] ?? 0] ?? 0))
      expectClose(
        at.map((place) => got[place] ?? Number.NaN),
        want,
        tolerance * 5,
        `gradient of input ${index}${asParameters ? ' as a parameter' : ''}`,
      )
    }
    for (const tensor of tensors) tensor.release()
  }
}

function makeTensor(engine: Engine, { shape, values, fixed }: Input, asParameter: boolean, index: number): Tensor {
  if (fixed) return engine.upload(new Float32Array(values), shape)
  if (!asParameter) {
    const tensor = engine.upload(new Float32Array(values), shape)
    tensor.requiresGrad = true
    return tensor
  }
  const storage = engine.reserve(values.length * 4, 'test values')
  const gradient = new Tensor(engine, shape, engine.reserve(values.length * 4, 'test gradient'))
  engine.write(storage, new Float32Array(values))
  engine.write(gradient.storage, new Float32Array(startOf(values.length)))
  return new Parameter(engine, `input ${index}`, shape, storage, gradient)
}

/** What a parameter's gradient holds before the backward, which must add to it. */
function startOf(count: number): Float64Array {
  return randomValues(count, 7)
}

/** Ends the tape with a projection of `out`, and runs the backward. */
export function seedGradient(engine: Engine, out: Tensor, projection: Float64Array): void {
  const root = engine.empty([1])
  engine.tape.record([out], root, [], () => {
    const target = engine.tape.target(out)
    if (target) engine.write(target.tensor.storage, new Float32Array(projection))
  })
  engine.tape.backward(root)
}

/** Every element of a small tensor; of a larger one the ends and a spread between, since each costs two references. */
const MAX_SAMPLES = 48

function sampledIndices(count: number): number[] {
  if (count <= MAX_SAMPLES) return Array.from({ length: count }, (_, index) => index)
  return Array.from({ length: MAX_SAMPLES }, (_, index) => Math.round((index * (count - 1)) / (MAX_SAMPLES - 1)))
}

export function centralDifferences(project: (values: readonly Float64Array[]) => number, inputs: readonly Float64Array[], index: number, places: readonly number[]): number[] {
  const step = 1e-5
  const moved = inputs.map((values) => Float64Array.from(values))
  const mine = moved[index] ?? new Float64Array()
  return places.map((at) => {
    const value = mine[at] ?? 0
    mine[at] = value + step
    const above = project(moved)
    mine[at] = value - step
    const below = project(moved)
    mine[at] = value
    return (above - below) / (2 * step)
  })
}

export function expectClose(got: ArrayLike<number>, want: ArrayLike<number>, tolerance: number, what: string): void {
  expect(got.length, `${what}: length`).toBe(want.length)
  const scale = Math.max(1e-3, ...Array.from(want, Math.abs))
  for (let index = 0; index < want.length; index++) {
    const error = Math.abs((got[index] ?? Number.NaN) - (want[index] ?? 0)) / scale
    if (!(error <= tolerance)) throw new Error(`${what}[${index}] is ${got[index]}, need ${want[index]} (error ${error.toExponential(1)} of ${tolerance})`)
  }
}
