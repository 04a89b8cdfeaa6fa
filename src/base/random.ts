/**
 * Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * A number is a function of (seed, stream, counter), so ranks draw the same ones in any order, in every browser:
 * only integer operations and IEEE + - * / sqrt are used, never Math.log or Math.sin, whose last bits differ.
 */

const MULTIPLIER_A = 0xd2511f53
const MULTIPLIER_B = 0xcd9e8d57
/** Weyl constants: golden ratio and sqrt(3) - 1. */
const WEYL_A = 0x9e3779b9
const WEYL_B = 0xbb67ae85
const ROUNDS = 10
const WORD = 2 ** 32

/** Writes block `counter` of the stream into `out` [4]: uniform 32-bit words. `counter` may be up to 2^53. */
export function randomBlock(out: Uint32Array, seed: number, at: { readonly stream: number; readonly counter: number }): Uint32Array {
  return philox(out, [at.counter >>> 0, Math.floor(at.counter / WORD), 0, 0], [seed, at.stream])
}

/** A number in (0, 1), never one of the ends. */
export function uniform(seed: number, stream: number, counter: number): number {
  const words = randomBlock(new Uint32Array(4), seed, { stream, counter })
  return toUnit(words[0] ?? 0)
}

/** `length` normally distributed numbers of mean 0; element i depends on (seed, streamName, i) alone. */
export function normalArray(seed: number, streamName: string, length: number, standardDeviation: number): Float32Array<ArrayBuffer> {
  return drawArray(seed, streamName, length, (unit) => standardDeviation * normalQuantile(unit))
}

/** `length` numbers evenly distributed between -bound and bound; element i depends on (seed, streamName, i) alone. */
export function uniformArray(seed: number, streamName: string, length: number, bound: number): Float32Array<ArrayBuffer> {
  return drawArray(seed, streamName, length, (unit) => bound * (2 * unit - 1))
}

/** `shape` makes what is wanted of a number in (0, 1). */
function drawArray(seed: number, streamName: string, length: number, shape: (unit: number) => number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(length)
  const words = new Uint32Array(4)
  const stream = streamOf(streamName)
  for (let start = 0; start < length; start += 4) {
    randomBlock(words, seed, { stream, counter: start / 4 })
    for (let lane = 0; lane < 4 && start + lane < length; lane++) {
      values[start + lane] = shape(toUnit(words[lane] ?? 0))
    }
  }
  return values
}

/** The number of a named stream: FNV-1a over its UTF-16 units. */
export function streamOf(name: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** counter [4], key [2] -> out [4]; all unsigned 32-bit words. */
export function philox(out: Uint32Array, counter: readonly [number, number, number, number], key: readonly [number, number]): Uint32Array {
  let a = counter[0]
  let b = counter[1]
  let c = counter[2]
  let d = counter[3]
  let keyA = key[0]
  let keyB = key[1]
  for (let round = 0; round < ROUNDS; round++) {
    const highA = multiplyHigh(MULTIPLIER_A, a)
    const lowA = Math.imul(MULTIPLIER_A, a)
    const highB = multiplyHigh(MULTIPLIER_B, c)
    const lowB = Math.imul(MULTIPLIER_B, c)
    a = (highB ^ b ^ keyA) >>> 0
    b = lowB >>> 0
    c = (highA ^ d ^ keyB) >>> 0
    d = lowA >>> 0
    keyA = (keyA + WEYL_A) >>> 0
    keyB = (keyB + WEYL_B) >>> 0
  }
  out[0] = a
  out[1] = b
  out[2] = c
  out[3] = d
  return out
}

/** The upper 32 bits of the 64-bit product, by 16-bit halves: each partial sum stays below 2^53. */
function multiplyHigh(x: number, y: number): number {
  const xHigh = x >>> 16
  const xLow = x & 0xffff
  const yHigh = y >>> 16
  const yLow = y & 0xffff
  const middle = xHigh * yLow + Math.floor((xLow * yLow) / 65_536)
  return (xHigh * yHigh + Math.floor((middle + xLow * yHigh) / 65_536)) >>> 0
}

function toUnit(word: number): number {
  return (word + 0.5) / WORD
}

/** The normal distribution's quantile of p in (0, 1): Wichura's algorithm AS 241 (PPND16), relative error about 1e-16. */
export function normalQuantile(p: number): number {
  const q = p - 0.5
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q
    return (q * polynomial(CENTRE_TOP, r)) / polynomial(CENTRE_BOTTOM, r)
  }
  const r = Math.sqrt(-naturalLog(q < 0 ? p : 1 - p))
  const tail = r <= 5 ? polynomial(TAIL_TOP, r - 1.6) / polynomial(TAIL_BOTTOM, r - 1.6) : polynomial(FAR_TOP, r - 5) / polynomial(FAR_BOTTOM, r - 5)
  return q < 0 ? -tail : tail
}

/** The logarithm of x in (0, 1] by the series of 2 atanh((m - 1)/(m + 1)) on the mantissa m: the same bits everywhere. */
function naturalLog(x: number): number {
  let mantissa = x
  let exponent = 0
  while (mantissa < Math.SQRT1_2) {
    mantissa *= 2
    exponent--
  }
  const s = (mantissa - 1) / (mantissa + 1)
  const square = s * s
  let sum = 0
  for (let power = 23; power >= 1; power -= 2) sum = sum * square + 1 / power
  return 2 * s * sum + exponent * Math.LN2
}

/** Coefficients from the highest power down. */
function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0
  for (let index = 0; index < coefficients.length; index++) sum = sum * x + (coefficients[index] ?? 0)
  return sum
}

const CENTRE_TOP = [
  2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2,
  3.387132872796366608,
]
const CENTRE_BOTTOM = [
  5.226495278852545925e3, 2.8729085735721942674e4, 3.930789580009271061e4, 2.1213794301586595867e4, 5.3941960214247511077e3, 6.871870074920579083e2, 4.2313330701600911252e1, 1,
]
const TAIL_TOP = [
  7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.4178072517745061177e-1, 1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
  1.42343711074968357734,
]
const TAIL_BOTTOM = [
  1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.4810397642748007459e-1, 6.8976733498510000455e-1, 1.6763848301838038494, 2.05319162663775882187,
  1,
]
const FAR_TOP = [
  2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.2426609473880784386e-3, 2.6532189526576123093e-2, 2.9656057182850489123e-1, 1.7848265399172913358, 5.4637849111641143699,
  6.6579046435011037772,
]
const FAR_BOTTOM = [
  2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4, 1.48753612908506148525e-2, 1.3692988092273580531e-1,
  5.9983220655588793769e-1, 1,
]
