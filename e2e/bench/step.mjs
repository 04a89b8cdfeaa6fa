import { median, round } from './support/context.mjs'

/** tfjs takes about ten times as long as jax-js: its steps are counted in fewer rounds. */
const LIBRARIES = [
  { name: 'tabring', page: 'step-tabring', every: 1 },
  { name: 'jax-js', page: 'step-jax', every: 1 },
  { name: 'tfjs-webgpu', page: 'step-tfjs', every: 2 },
]

/** Losses of the libraries on the same data may differ by rounding alone. */
const LOSS_TOLERANCE = 2e-5

/**
 * One training step of the same GPT-2 (4 layers, width 128, 4 heads, 8 x 64 tokens, vocabulary 256, AdamW), from the same weights on
 * the same data, in turns. The first step of each compiles and is left out.
 * @param {import('./support/context.mjs').BenchContext} context
 */
export async function run(context) {
  const rounds = Number(context.options.rounds ?? 6)
  const runs = []
  for (const library of LIBRARIES) {
    const page = await context.open(library.page)
    const startedAt = performance.now()
    await page.evaluate('bench.boot()')
    const first = await page.evaluate('bench.step()')
    runs.push({ ...library, page, losses: [first.loss], wall: [], cpu: [], firstMs: performance.now() - startedAt, dispatches: 0 })
  }
  for (let index = 0; index < rounds; index++) {
    for (const each of runs) {
      if (index % each.every !== 0) continue
      const before = await context.gpuSeconds()
      const { ms, loss, dispatches } = await each.page.evaluate('bench.step()')
      each.wall.push(ms)
      each.cpu.push(((await context.gpuSeconds()) - before) * 1000)
      each.losses.push(loss)
      each.dispatches = dispatches
    }
  }
  checkLosses(runs)
  const own = runs[0]
  return runs.map((each) => ({
    library: each.name,
    'wall ms': round(median(each.wall), 0),
    'gpu-process cpu ms': round(median(each.cpu), 0),
    'wall ratio': round(median(each.wall) / median(own.wall), 2),
    'cpu ratio': round(median(each.cpu) / median(own.cpu), 2),
    dispatches: each.dispatches,
    'first step ms': round(each.firstMs, 0),
    'last loss': round(each.losses.at(-1), 6),
    steps: each.wall.length,
  }))
}

/** @param {{ name: string, losses: number[] }[]} runs */
function checkLosses([own, ...peers]) {
  for (const { name, losses } of peers) {
    for (const [step, loss] of losses.entries()) {
      const difference = Math.abs(loss - own.losses[step]) / loss
      if (!(difference < LOSS_TOLERANCE)) throw new Error(`Cannot compare steps: in step ${step} ${name} has loss ${loss}, tabring ${own.losses[step]}`)
    }
  }
}
