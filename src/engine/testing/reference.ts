/** Ops in float64, straight from their definitions; slow and obvious. */

/** a: [m, k] (transposed: [k, m]), b: [k, n] (transposed: [n, k]) -> [m, n] */
export function matmulReference(a: Float64Array, b: Float64Array, m: number, n: number, k: number, form: 'NN' | 'NT' | 'TN'): Float64Array {
  const out = new Float64Array(m * n)
  for (let row = 0; row < m; row++) {
    for (let column = 0; column < n; column++) {
      for (let inner = 0; inner < k; inner++) {
        const left = a[form === 'TN' ? inner * m + row : row * k + inner] ?? 0
        const right = b[form === 'NT' ? column * k + inner : inner * n + column] ?? 0
        out[row * n + column] = (out[row * n + column] ?? 0) + left * right
      }
    }
  }
  return out
}

export function geluReference(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

/** x times the normal distribution's share below x. */
export function exactGeluReference(x: number): number {
  return 0.5 * x * (1 + erf(x / Math.SQRT2))
}

/** erf x = 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (1 * 3 * ... * (2n+1)): no term cancels another. */
function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x)
  let term = x
  let sum = x
  for (let n = 1; n < 200; n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum
}

export function siluReference(x: number): number {
  return x / (1 + Math.exp(-x))
}

/** x: [rows, parts * C] with a weight for each of the parts or for all of them: [parts * C] or [C] */
export function rmsNormReference(x: Float64Array, weight: Float64Array, epsilon: number, columns = weight.length): Float64Array {
  return x.map((value, index) => {
    const part = x.subarray(index - (index % columns), index - (index % columns) + columns)
    const square = part.reduce((sum, one) => sum + one * one, 0) / columns
    return (value / Math.sqrt(square + epsilon)) * (weight[index % weight.length] ?? 0)
  })
}

/** As rmsNormReference, with means taken off and a bias. */
export function layerNormReference(x: Float64Array, weight: Float64Array, bias: Float64Array | null, epsilon: number, columns = weight.length): Float64Array {
  return x.map((value, index) => {
    const row = x.subarray(index - (index % columns), index - (index % columns) + columns)
    const mean = row.reduce((sum, one) => sum + one, 0) / columns
    const variance = row.reduce((sum, one) => sum + (one - mean) ** 2, 0) / columns
    return ((value - mean) / Math.sqrt(variance + epsilon)) * (weight[index % weight.length] ?? 0) + (bias?.[index % weight.length] ?? 0)
  })
}

interface AttentionShape {
  readonly batch: number
  readonly length: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  readonly scale: number
  /** [batch * length]: the first key that each query sees; 0 when missing. */
  readonly starts?: Uint32Array
}

/** qkv: [batch * length, (heads + 2 kvHeads) * headDim] -> [batch * length, heads * headDim] */
export function attentionReference(qkv: Float64Array, shape: AttentionShape): Float64Array {
  const { batch, length, heads, kvHeads, headDim, scale, starts } = shape
  const stride = (heads + 2 * kvHeads) * headDim
  const at = (b: number, t: number, slot: number, d: number): number => qkv[(b * length + t) * stride + slot * headDim + d] ?? 0
  const out = new Float64Array(batch * length * heads * headDim)
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < length; i++) {
        const kv = heads + Math.floor(h / (heads / kvHeads))
        const begin = starts?.[b * length + i] ?? 0
        const scores = Array.from({ length: i + 1 - begin }, (_, index) => {
          let score = 0
          for (let d = 0; d < headDim; d++) score += at(b, i, h, d) * at(b, begin + index, kv, d)
          return score * scale
        })
        const largest = Math.max(...scores)
        const weights = scores.map((score) => Math.exp(score - largest))
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        for (let d = 0; d < headDim; d++) {
          const mixed = weights.reduce((sum, weight, index) => sum + weight * at(b, begin + index, kv + kvHeads, d), 0)
          out[((b * length + i) * heads + h) * headDim + d] = mixed / total
        }
      }
  return out
}

/** gradient: [batch * length, heads * headDim] of the output -> gradient of qkv, from the derivative of the softmax */
export function attentionGradientReference(qkv: Float64Array, gradient: Float64Array, shape: AttentionShape): Float64Array {
  const { batch, length, heads, kvHeads, headDim, scale, starts } = shape
  const stride = (heads + 2 * kvHeads) * headDim
  const dqkv = new Float64Array(qkv.length)
  const dot = (a: Float64Array, aAt: number, b: Float64Array, bAt: number): number => {
    let sum = 0
    for (let d = 0; d < headDim; d++) sum += (a[aAt + d] ?? 0) * (b[bAt + d] ?? 0)
    return sum
  }
  const add = (at: number, factor: number, from: Float64Array, fromAt: number): void => {
    for (let d = 0; d < headDim; d++) dqkv[at + d] = (dqkv[at + d] ?? 0) + factor * (from[fromAt + d] ?? 0)
  }
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < length; i++) {
        const kv = heads + Math.floor(h / (heads / kvHeads))
        const queryAt = (b * length + i) * stride + h * headDim
        const outAt = ((b * length + i) * heads + h) * headDim
        const begin = starts?.[b * length + i] ?? 0
        const keyAt = (index: number): number => (b * length + begin + index) * stride + kv * headDim
        const scores = Array.from({ length: i + 1 - begin }, (_, j) => dot(qkv, queryAt, qkv, keyAt(j)) * scale)
        const largest = Math.max(...scores)
        const total = scores.reduce((sum, score) => sum + Math.exp(score - largest), 0)
        const weights = scores.map((score) => Math.exp(score - largest) / total)
        const agreements = weights.map((_, j) => dot(gradient, outAt, qkv, keyAt(j) + kvHeads * headDim))
        const mean = weights.reduce((sum, weight, j) => sum + weight * (agreements[j] ?? 0), 0)
        for (const [j, weight] of weights.entries()) {
          const dScore = weight * ((agreements[j] ?? 0) - mean) * scale
          add(queryAt, dScore, qkv, keyAt(j))
          add(keyAt(j), dScore, qkv, queryAt)
          add(keyAt(j) + kvHeads * headDim, weight, gradient, outAt)
        }
      }
  return dqkv
}

/** logits: [rows, vocabulary] -> summed loss over rows whose target is not -100 */
export function crossEntropyReference(logits: Float64Array, targets: readonly number[], smoothing = 0): number {
  const vocabulary = logits.length / targets.length
  return targets.reduce((sum, target, row) => {
    if (target === -100) return sum
    const mine = logits.subarray(row * vocabulary, (row + 1) * vocabulary)
    const largest = Math.max(...mine)
    const total = mine.reduce((all, logit) => all + Math.exp(logit - largest), 0)
    const mean = mine.reduce((all, logit) => all + logit, 0) / vocabulary
    return sum + Math.log(total) + largest - (1 - smoothing) * (mine[target] ?? 0) - smoothing * mean
  }, 0)
}

interface HeadsShape {
  readonly length: number
  readonly heads: number
  readonly headDim: number
  /** Elements of a head that are rotated. */
  readonly rotary: number
}

/** x: [rows, heads * headDim], angle of position and pair -> element d of a head turned with element d + rotary / 2 */
export function rotateReference(x: Float64Array, { length, heads, headDim, rotary }: HeadsShape, angle: (position: number, pair: number) => number): Float64Array {
  return x.map((value, index) => {
    const d = index % headDim
    if (d >= rotary) return value
    const half = rotary / 2
    const turn = angle(Math.floor(index / (heads * headDim)) % length, d % half)
    const other = x[d < half ? index + half : index - half] ?? 0
    return value * Math.cos(turn) + (d < half ? -other : other) * Math.sin(turn)
  })
}
