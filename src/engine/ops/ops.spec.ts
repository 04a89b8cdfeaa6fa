import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { checkOp, expectClose, randomInput, randomValues } from '../testing/check-op.ts'
import { attentionReference, crossEntropyReference, exactGeluReference, geluReference, layerNormReference, matmulReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { addInto } from './add.ts'
import { add } from './add-tensors.ts'
import { attention } from './attention.ts'
import { columnSum } from './column-sum.ts'
import { crossEntropyHead } from './cross-entropy.ts'
import { embedding, uploadTokens } from './embedding.ts'
import { gelu } from './gelu.ts'
import { layerNorm } from './layer-norm.ts'
import { linear } from './linear.ts'
import { type MatmulForm, matmul } from './matmul.ts'
import { scale } from './scale.ts'

function need(tensor: Tensor | undefined): Tensor {
  if (!tensor) throw new Error('an input is missing')
  return tensor
}

const ACTIVATIONS = { none: (x: number) => x, 'gelu-tanh': geluReference, gelu: exactGeluReference }

describe.each(['lane', 'shared'] as const)('ops in the %s profile, on poisoned memory', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  it.each(['gelu-tanh', 'gelu'] as const)('%s by itself, scaled, where gradients meet', async (kind) => {
    await checkOp(engine, {
      inputs: [randomInput([5, 13], 4)],
      // Scaled and unscaled: the gradient of x is added to twice.
      run: ([x]) => add(scale(gelu(need(x), kind), -3), scale(need(x), 0.5)),
      reference: ([x = new Float64Array()]) => x.map((value) => 0.5 * value - 3 * ACTIVATIONS[kind](value)),
    })
  })

  const sizes = [
    [1, 1, 1],
    [8, 8, 8],
    [33, 36, 20],
    [7, 5, 3],
    [65, 4, 132],
    [12, 127, 1],
    [64, 68, 64],
    [92, 196, 120], // large enough for the subgroup kernel, and no multiple of its tile
  ] as const
  it.each(sizes.flatMap((size) => (['NN', 'NT', 'TN'] as const).map((form) => [form, ...size] as const)))(
    'matmul %s of m=%i n=%i k=%i equals float64, also added to what is there',
    async (form: MatmulForm, m, n, k) => {
      using _scope = engine.scope()
      const a = randomValues(m * k, 1)
      const b = randomValues(k * n, 2)
      const before = randomValues(m * n, 3)
      const want = matmulReference(a, b, m, n, k, form)
      const out = engine.empty([m, n])
      const added = engine.upload(new Float32Array(before), [m, n])
      const [gpuA, gpuB] = [engine.upload(new Float32Array(a), [m * k]), engine.upload(new Float32Array(b), [k * n])]
      matmul(engine, { form, m, n, k, a: gpuA, b: gpuB, out })
      matmul(engine, { form, m, n, k, a: gpuA, b: gpuB, out: added, accumulate: true })
      expectClose(await out.read(), want, 1e-5, 'product')
      expectClose(
        await added.read(),
        want.map((value, index) => value + (before[index] ?? 0)),
        1e-5,
        'sum',
      )
    },
  )

  it('matmul refuses operands of another size, with the numbers', () => {
    using _scope = engine.scope()
    const x = engine.empty([6])
    expect(() => matmul(engine, { form: 'NN', m: 2, n: 2, k: 2, a: x, b: x, out: x })).toThrow('Cannot matmul NN m=2 n=2 k=2: a is [6], need 4 elements')
  })

  const linearSizes = [
    [1, 1, 1],
    [5, 12, 8],
    [9, 7, 5],
    [70, 8, 12],
  ] as const
  it.each(
    linearSizes.flatMap((size) =>
      (['in-out', 'out-in'] as const).flatMap((layout) => (['none', 'gelu-tanh', 'gelu'] as const).map((activation) => [layout, activation, ...size] as const)),
    ),
  )('linear %s with %s, [%i, %i] to %i, and its gradients', async (layout, activation, rows, inner, columns) => {
    await checkOp(engine, {
      inputs: [
        randomInput([rows, inner], 1),
        randomInput(layout === 'in-out' ? [inner, columns] : [columns, inner], 2),
        randomInput([columns], 3),
        randomInput([rows, columns], 4),
      ],
      run: ([x, weight, bias, residual]) => linear(need(x), need(weight), need(bias), { layout, activation, residual: need(residual) }),
      reference: ([x = new Float64Array(), weight = new Float64Array(), bias, residual]) =>
        matmulReference(x, weight, rows, columns, inner, layout === 'in-out' ? 'NN' : 'NT').map((sum, index) => {
          const pre = sum + (bias?.[index % columns] ?? 0)
          return ACTIVATIONS[activation](pre) + (residual?.[index] ?? 0)
        }),
    })
  })

  it.each(['gelu-tanh', 'gelu'] as const)('linear with %s, large enough for the subgroup kernel', async (activation) => {
    using _scope = engine.scope()
    const [x, weight, bias] = [randomValues(96 * 128, 1), randomValues(128 * 192, 2), randomValues(192, 3)]
    const [gpuX, gpuWeight] = [engine.upload(new Float32Array(x), [96, 128]), engine.upload(new Float32Array(weight), [128, 192])]
    const out = linear(gpuX, gpuWeight, engine.upload(new Float32Array(bias), [192]), { layout: 'in-out', activation })
    const want = matmulReference(x, weight, 96, 192, 128, 'NN').map((sum, at) => ACTIVATIONS[activation](sum + (bias[at % 192] ?? 0)))
    expectClose(await out.read(), want, 1e-5, 'output')
  })

  it('linear without bias or residual, and its gradients', async () => {
    await checkOp(engine, {
      inputs: [randomInput([6, 8], 1), randomInput([12, 8], 2)],
      run: ([x, weight]) => linear(need(x), need(weight), null, { layout: 'out-in' }),
      reference: ([x = new Float64Array(), weight = new Float64Array()]) => matmulReference(x, weight, 6, 12, 8, 'NT'),
    })
  })

  it('linear refuses a weight that does not fit', () => {
    using _scope = engine.scope()
    expect(() => linear(engine.empty([2, 64]), engine.empty([32, 8]), null, { layout: 'in-out' })).toThrow('Cannot matmul [2, 64] by [32, 8]: 64 is not 32')
  })

  it.each(['gelu-tanh', 'gelu'] as const)('%s is finite and right for pre-activations of 1e4 in both directions', async (activation) => {
    await checkOp(engine, {
      inputs: [
        { shape: [1, 4], values: Float64Array.of(1e4, -1e4, 30, -30) },
        { shape: [4, 4], values: Float64Array.from({ length: 16 }, (_, at) => (at % 5 === 0 ? 1 : 0)) },
      ],
      run: ([x, weight]) => linear(need(x), need(weight), null, { layout: 'in-out', activation }),
      reference: ([x = new Float64Array(), weight = new Float64Array()]) => matmulReference(x, weight, 1, 4, 4, 'NN').map(ACTIVATIONS[activation]),
    })
  })

  it.each([
    [1, 1],
    [5, 12],
    [70, 33],
    [3, 65],
  ] as const)('layer norm of [%i, %i] and its gradients', async (rows, columns) => {
    await checkOp(engine, {
      inputs: [randomInput([rows, columns], 1), randomInput([columns], 2), randomInput([columns], 3)],
      run: ([x, weight, bias]) => layerNorm(need(x), need(weight), need(bias), { epsilon: 1e-5 }),
      reference: ([x = new Float64Array(), weight = new Float64Array(), bias]) => layerNormReference(x, weight, bias ?? null, 1e-5),
      tolerance: columns === 1 ? 1e-3 : 5e-5, // one column has variance 0: the division by the root of epsilon amplifies rounding
    })
  })

  it('layer norm without bias', async () => {
    await checkOp(engine, {
      inputs: [randomInput([4, 6], 1), randomInput([6], 2)],
      run: ([x, weight]) => layerNorm(need(x), need(weight), null, { epsilon: 1e-5 }),
      reference: ([x = new Float64Array(), weight = new Float64Array()]) => layerNormReference(x, weight, null, 1e-5),
      tolerance: 5e-5,
    })
  })

  const attentions = [
    { batch: 1, length: 1, heads: 1, kvHeads: 1, headDim: 1 },
    { batch: 2, length: 9, heads: 2, kvHeads: 2, headDim: 4 },
    { batch: 1, length: 37, heads: 4, kvHeads: 2, headDim: 8 },
    { batch: 2, length: 5, heads: 3, kvHeads: 1, headDim: 5 },
  ]
  it.each(attentions)('attention with batch $batch, length $length, $heads heads on $kvHeads, size $headDim, and its gradients', async (shape) => {
    const options = { ...shape, scale: 1 / Math.sqrt(shape.headDim) }
    await checkOp(engine, {
      inputs: [randomInput([shape.batch * shape.length, (shape.heads + 2 * shape.kvHeads) * shape.headDim], 1)],
      run: ([qkv]) => attention(need(qkv), options),
      reference: ([qkv = new Float64Array()]) => attentionReference(qkv, options),
    })
  })

  it('attention does not overflow for scores of 1e4', async () => {
    const options = { batch: 1, length: 4, heads: 1, kvHeads: 1, headDim: 4, scale: 1 }
    const values = randomValues(4 * 12, 5).map((value, index) => (index % 12 < 8 ? value * 70 : value))
    using _scope = engine.scope()
    const out = attention(engine.upload(new Float32Array(values), [4, 12]), options)
    expectClose(await out.read(), attentionReference(values, options), 1e-3, 'output')
  })

  it.each([
    [1, 1, 1, 1, true],
    [2, 5, 7, 3, true],
    [3, 4, 5, 8, false],
  ] as const)('embedding of %i x %i tokens of %i, width %i, positions %s, and its gradients', async (batch, length, vocabSize, width, positions) => {
    const ids = Uint32Array.from({ length: batch * length }, (_, at) => (at * at) % vocabSize)
    await checkOp(engine, {
      inputs: [randomInput([vocabSize, width], 1), ...(positions ? [randomInput([length + 2, width], 2)] : [])],
      run: ([table, position]) => embedding(uploadTokens(engine, ids, { batch, length, vocabSize }), need(table), position ?? null),
      reference: ([table, position]) =>
        Float64Array.from({ length: ids.length * width }, (_, at) => {
          const row = Math.floor(at / width)
          return (table?.[(ids[row] ?? 0) * width + (at % width)] ?? 0) + (position?.[(row % length) * width + (at % width)] ?? 0)
        }),
    })
  })

  it('embedding refuses an id outside the vocabulary before it reaches the GPU', () => {
    expect(() => uploadTokens(engine, Uint32Array.of(1, 9), { batch: 1, length: 2, vocabSize: 9 })).toThrow('Cannot embed token 9 at position 1: the vocabulary has 9')
  })

  const targetSets: readonly (readonly number[])[] = [[2], [0, -100, 4, 1], [-100, -100], Array.from({ length: 70 }, (_, at) => (at % 3 === 0 ? -100 : at % 5))]
  it.each(targetSets.flatMap((targets) => [0, 0.2].map((smoothing) => [targets, smoothing] as const)))(
    'cross-entropy head over targets %j, smoothed by %d, and its gradients',
    async (targets, smoothing) => {
      const rows = targets.length
      const [width, vocabSize] = [6, 5]
      const x = randomInput([rows, width], 1)
      const weight = randomInput([vocabSize, width], 2)
      using _scope = engine.scope()
      const gpuX = engine.upload(new Float32Array(x.values), x.shape)
      const gpuWeight = engine.upload(new Float32Array(weight.values), weight.shape)
      gpuX.requiresGrad = true
      gpuWeight.requiresGrad = true
      const lossSum = engine.upload(Float32Array.of(10), [1])
      engine.tape.backward(crossEntropyHead(gpuX, gpuWeight, engine.upload(Int32Array.from(targets), [rows]), lossSum, { smoothing }))
      const loss = (values: readonly Float64Array[]): number =>
        crossEntropyReference(matmulReference(values[0] ?? x.values, values[1] ?? weight.values, rows, vocabSize, width, 'NT'), targets, smoothing)
      expectClose(await lossSum.read(), [10 + loss([x.values, weight.values])], 1e-5, 'loss')
      for (const [index, tensor] of [gpuX, gpuWeight].entries()) {
        const inputs = [Float64Array.from(x.values), Float64Array.from(weight.values)]
        const mine = inputs[index] ?? new Float64Array()
        const numeric = Float64Array.from(mine, (value, at) => {
          mine[at] = value + 1e-5
          const above = loss(inputs)
          mine[at] = value - 1e-5
          const below = loss(inputs)
          mine[at] = value
          return (above - below) / 2e-5
        })
        expectClose((await tensor.grad?.read()) ?? [], numeric, 1e-4, `gradient ${index}`)
      }
    },
  )

  it('cross-entropy without recording only adds the loss, and logits of 1e4 do not overflow', async () => {
    using _scope = engine.scope()
    const x = engine.upload(Float32Array.of(100, -100), [1, 2])
    const weight = engine.upload(Float32Array.of(100, 0, 0, 100, -50, 0), [3, 2])
    const lossSum = engine.upload(Float32Array.of(0), [1])
    engine.tape.withoutGradients(() => crossEntropyHead(x, weight, engine.upload(Int32Array.of(2), [1]), lossSum))
    expectClose(await lossSum.read(), [15_000], 1e-6, 'loss')
  })

  it('column sums and additions equal float64', async () => {
    using _scope = engine.scope()
    const values = randomValues(300 * 5, 1)
    const x = engine.upload(new Float32Array(values), [300, 5])
    const out = engine.upload(new Float32Array(5).fill(2), [5])
    columnSum(engine, x, 5, { tensor: out, accumulate: true })
    const want = Float64Array.from({ length: 5 }, (_, column) => 2 + values.filter((_value, at) => at % 5 === column).reduce((sum, value) => sum + value, 0))
    expectClose(await out.read(), want, 1e-5, 'column sums')
    const doubled = engine.upload(new Float32Array(want), [5])
    addInto(engine, out, doubled)
    expectClose(
      await doubled.read(),
      want.map((value) => value * 2),
      1e-5,
      'sum',
    )
  })
})
