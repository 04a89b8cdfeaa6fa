/** The self-test's small network in float64, forward and backward by hand, as plain as it can be. */

export interface ReferenceShape {
  readonly batch: number
  readonly length: number
  readonly heads: number
  readonly headDim: number
  readonly inputs: number
  readonly vocab: number
}

export interface ReferenceInputs {
  /** [R, inputs] */
  readonly x: Float32Array<ArrayBuffer>
  /** [inputs, 3 * heads * headDim] */
  readonly weight: Float32Array<ArrayBuffer>
  /** [3 * heads * headDim] */
  readonly bias: Float32Array<ArrayBuffer>
  /** [vocab, heads * headDim] */
  readonly head: Float32Array<ArrayBuffer>
  /** [R], -100 ignored */
  readonly targets: Int32Array<ArrayBuffer>
}

export interface ReferenceResult {
  readonly loss: number
  readonly gradients: Readonly<Record<'x' | 'weight' | 'bias' | 'head', Float64Array>>
}

/** loss = sum of cross-entropy(attention(x @ weight + bias) @ head^T, targets), and its gradients. */
export function referenceNetwork(shape: ReferenceShape, { x, weight, bias, head, targets }: ReferenceInputs): ReferenceResult {
  const rows = shape.batch * shape.length
  const width = shape.heads * shape.headDim
  const qkv = product(x, weight, rows, shape.inputs, 3 * width)
  for (let index = 0; index < qkv.length; index++) qkv[index] = at(qkv, index) + at(bias, index % (3 * width))
  const weights = attentionWeights(shape, qkv)
  const mixed = attentionOutput(shape, qkv, weights)
  const logits = product(mixed, transpose(head, shape.vocab, width), rows, width, shape.vocab)
  const { loss, dLogits } = crossEntropy(logits, targets, shape.vocab)
  const dMixed = product(dLogits, head, rows, shape.vocab, width)
  const dQkv = attentionBackward(shape, qkv, weights, dMixed)
  return {
    loss,
    gradients: {
      x: product(dQkv, transpose(weight, shape.inputs, 3 * width), rows, 3 * width, shape.inputs),
      weight: product(transpose(x, rows, shape.inputs), dQkv, shape.inputs, rows, 3 * width),
      bias: product(new Float64Array(rows).fill(1), dQkv, 1, rows, 3 * width),
      head: product(transpose(dLogits, rows, shape.vocab), mixed, shape.vocab, rows, width),
    },
  }
}

type Numbers = Float32Array | Float64Array

function at(values: Numbers, index: number): number {
  return values[index] ?? Number.NaN
}

/** a: [M, K], b: [K, N] -> [M, N] */
function product(a: Numbers, b: Numbers, m: number, k: number, n: number): Float64Array {
  const c = new Float64Array(m * n)
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      let sum = 0
      for (let inner = 0; inner < k; inner++) sum += at(a, row * k + inner) * at(b, inner * n + column)
      c[row * n + column] = sum
    }
  }
  return c
}

function transpose(a: Numbers, rows: number, columns: number): Float64Array {
  return Float64Array.from({ length: rows * columns }, (_, index) => at(a, (index % rows) * columns + Math.floor(index / rows)))
}

/** Calls `visit` for every pair that causal attention connects: head `h`, query row `t`, key row `u` of the same sequence. */
function forEachPair({ batch, length, heads }: ReferenceShape, visit: (h: number, t: number, u: number, pair: number) => void): void {
  for (let h = 0; h < heads; h++) {
    for (let t = 0; t < batch * length; t++) {
      const start = t - (t % length)
      for (let u = start; u <= t; u++) visit(h, t, u, (h * batch * length + t) * length + (u - start))
    }
  }
}

/** First element of a head's vector in qkv; part 0, 1, 2 is query, key, value. */
function vectorOf({ heads, headDim }: ReferenceShape, row: number, part: 0 | 1 | 2, h: number): number {
  return row * 3 * heads * headDim + (part * heads + h) * headDim
}

/** [heads, R, length] softmax weights. */
function attentionWeights(shape: ReferenceShape, qkv: Float64Array): Float64Array {
  const rows = shape.batch * shape.length
  const weights = new Float64Array(shape.heads * rows * shape.length)
  const sums = new Float64Array(shape.heads * rows)
  forEachPair(shape, (h, t, u, pair) => {
    let score = 0
    for (let d = 0; d < shape.headDim; d++) score += at(qkv, vectorOf(shape, t, 0, h) + d) * at(qkv, vectorOf(shape, u, 1, h) + d)
    weights[pair] = Math.exp(score / Math.sqrt(shape.headDim))
    sums[h * rows + t] = at(sums, h * rows + t) + at(weights, pair)
  })
  forEachPair(shape, (h, t, _u, pair) => {
    weights[pair] = at(weights, pair) / at(sums, h * rows + t)
  })
  return weights
}

function attentionOutput(shape: ReferenceShape, qkv: Float64Array, weights: Float64Array): Float64Array {
  const width = shape.heads * shape.headDim
  const mixed = new Float64Array(shape.batch * shape.length * width)
  forEachPair(shape, (h, t, u, pair) => {
    for (let d = 0; d < shape.headDim; d++) {
      const index = t * width + h * shape.headDim + d
      mixed[index] = at(mixed, index) + at(weights, pair) * at(qkv, vectorOf(shape, u, 2, h) + d)
    }
  })
  return mixed
}

function attentionBackward(shape: ReferenceShape, qkv: Float64Array, weights: Float64Array, dMixed: Float64Array): Float64Array {
  const rows = shape.batch * shape.length
  const width = shape.heads * shape.headDim
  const dQkv = new Float64Array(qkv.length)
  const dWeights = new Float64Array(weights.length)
  const means = new Float64Array(shape.heads * rows)
  const add = (index: number, value: number) => {
    dQkv[index] = at(dQkv, index) + value
  }
  forEachPair(shape, (h, t, u, pair) => {
    for (let d = 0; d < shape.headDim; d++) {
      const dOut = at(dMixed, t * width + h * shape.headDim + d)
      dWeights[pair] = at(dWeights, pair) + dOut * at(qkv, vectorOf(shape, u, 2, h) + d)
      add(vectorOf(shape, u, 2, h) + d, at(weights, pair) * dOut)
    }
    means[h * rows + t] = at(means, h * rows + t) + at(weights, pair) * at(dWeights, pair)
  })
  forEachPair(shape, (h, t, u, pair) => {
    const dScore = (at(weights, pair) * (at(dWeights, pair) - at(means, h * rows + t))) / Math.sqrt(shape.headDim)
    for (let d = 0; d < shape.headDim; d++) {
      add(vectorOf(shape, t, 0, h) + d, dScore * at(qkv, vectorOf(shape, u, 1, h) + d))
      add(vectorOf(shape, u, 1, h) + d, dScore * at(qkv, vectorOf(shape, t, 0, h) + d))
    }
  })
  return dQkv
}

function crossEntropy(logits: Float64Array, targets: Int32Array, vocab: number): { loss: number; dLogits: Float64Array } {
  const dLogits = new Float64Array(logits.length)
  let loss = 0
  for (const [row, target] of targets.entries()) {
    if (target < 0) continue
    const exponentials = logits.subarray(row * vocab, (row + 1) * vocab).map(Math.exp)
    const sum = exponentials.reduce((total, value) => total + value, 0)
    loss += Math.log(sum) - at(logits, row * vocab + target)
    for (const [id, value] of exponentials.entries()) dLogits[row * vocab + id] = value / sum - (id === target ? 1 : 0)
  }
  return { loss, dLogits }
}
