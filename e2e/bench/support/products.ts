/** NN: a [m, k], b [k, n]; NT: b [n, k]; TN: a [k, m]. */
export type Form = 'NN' | 'NT' | 'TN'

export interface Product {
  readonly m: number
  readonly n: number
  readonly k: number
  readonly form: Form
  readonly a: Float32Array<ArrayBuffer>
  readonly b: Float32Array<ArrayBuffer>
}

export function productOf(m: number, n: number, k: number, form: Form): Product {
  const noise = (size: number, seed: number) => Float32Array.from({ length: size }, (_, at) => Math.sin(at * 12.9898 + seed) / 2)
  return { m, n, k, form, a: noise(m * k, 1), b: noise(k * n, 2) }
}

/** The largest difference from float64 among 64 elements. */
export function worstError({ m, n, k, form, a, b }: Product, result: ArrayLike<number>): number {
  let worst = 0
  for (let sample = 0; sample < 64; sample++) {
    const row = (sample * 7919 + 13) % m
    const column = (sample * 104729 + 7) % n
    let sum = 0
    for (let at = 0; at < k; at++) sum += (a[form === 'TN' ? at * m + row : row * k + at] ?? 0) * (b[form === 'NT' ? column * k + at : at * n + column] ?? 0)
    worst = Math.max(worst, Math.abs(sum - (result[row * n + column] ?? Number.NaN)))
  }
  return worst
}

/** Milliseconds of the second of two runs; the first compiles. */
export async function timeSecond(body: () => Promise<void>): Promise<number> {
  await body()
  const startedAt = performance.now()
  await body()
  return performance.now() - startedAt
}
