import { median, round } from './support/context.mjs'

const LIBRARIES = [
  { name: 'tabring', page: 'matmul-tabring' },
  { name: 'jax-js', page: 'matmul-jax' },
  { name: 'tfjs-webgpu', page: 'matmul-tfjs' },
]

/** [m, n, k]; the last three fit no tile. */
const SIZES = [
  [128, 128, 128],
  [256, 256, 256],
  [512, 512, 512],
  [1024, 1024, 1024],
  [127, 127, 127],
  [250, 250, 250],
  [1000, 65, 1000],
]

/** Wall time that a measurement should take, so that clock ticks of 10 ms do not matter. */
const TARGET_MS = 300

/**
 * float32 products in three forms (NN: a b; NT: a b^T; TN: a^T b), each checked against float64 at some elements. GFLOPS by CPU time
 * of the GPU process, two cores counted as one second each.
 * @param {import('./support/context.mjs').BenchContext} context
 */
export async function run(context) {
  const rounds = Number(context.options.rounds ?? 3)
  const libraries = []
  for (const library of LIBRARIES) {
    const page = await context.open(library.page)
    await page.evaluate('bench.boot()')
    libraries.push({ ...library, page })
  }
  const rows = []
  for (const [m, n, k] of SIZES) for (const form of ['NN', 'NT', 'TN']) rows.push(await measure(context, libraries, { m, n, k, form }, rounds))
  return rows
}

async function measure(context, libraries, { m, n, k, form }, rounds) {
  const operations = 2 * m * n * k
  const runs = []
  for (const library of libraries) {
    const { worst, ms } = await library.page.evaluate(`bench.prepare(${m}, ${n}, ${k}, '${form}')`)
    if (!(worst < 1e-3)) throw new Error(`Cannot compare products: ${library.name}'s ${form} of ${m} x ${n} x ${k} is off by ${worst}`)
    runs.push({ ...library, repeats: Math.max(1, Math.min(100, Math.round(TARGET_MS / ms))), speeds: [] })
  }
  for (let index = 0; index < rounds; index++) {
    for (const { page, repeats, speeds } of runs) {
      const before = await context.gpuSeconds()
      await page.evaluate(`bench.repeat(${repeats})`)
      speeds.push((operations * repeats) / ((await context.gpuSeconds()) - before) / 1e9)
    }
  }
  const [own, jax, tfjs] = runs.map(({ speeds }) => median(speeds))
  return {
    size: `${m}x${n}x${k}`,
    form,
    'tabring GFLOPS': round(own, 2),
    'jax-js GFLOPS': round(jax, 2),
    'tfjs GFLOPS': round(tfjs, 2),
    'times jax-js': round(own / jax, 2),
    'times tfjs': round(own / tfjs, 2),
  }
}
