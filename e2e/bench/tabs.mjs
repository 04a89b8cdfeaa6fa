import { median, round } from './support/context.mjs'
import { serveProduct } from './support/product.mjs'

const TABS = [1, 2, 4]
/** The first updates compile and warm the links. */
const WARM_UP_UPDATES = 4
const UPDATES = 24
/** The same job for every number of tabs: four micro-batches of four samples in each update. */
const OPTIONS = {
  preset: 'book',
  per_device_train_batch_size: 4,
  global_batch_size: 16,
  max_steps: WARM_UP_UPDATES + UPDATES,
  learning_rate: 1e-3,
  logging_steps: 1000,
  eval_strategy: 'no',
  sample_every: 0,
  hash_every: 0,
}
/** The order of sums differs, and rounding grows from update to update. */
const LOSS_TOLERANCE = 1e-4

/**
 * Updates per second of one job on 1, 2 and 4 tabs; the coordinator's page only coordinates. All tabs are of one browser: without a
 * graphics card they share one GPU process, whose software adapter already gives a single tab all cores, so that on such a machine
 * more tabs can only cost. What they cost is in the CPU times; what they gain shows where each tab has a GPU of its own.
 * @param {import('./support/context.mjs').BenchContext} context
 */
export async function run(context) {
  const rounds = Number(context.options.rounds ?? 1)
  const product = await serveProduct(context.root)
  const runs = TABS.map((tabs) => ({ tabs, updates: [], gpu: [], all: [], losses: [] }))
  try {
    for (let index = 0; index < rounds; index++) {
      for (const each of index % 2 === 0 ? runs : runs.toReversed()) await train(context, product, each)
    }
  } finally {
    await product.close()
  }
  checkLosses(runs)
  const [one] = runs
  return runs.map(({ tabs, updates, gpu, all, losses }) => ({
    tabs,
    'updates/s': round(median(updates), 3),
    'wall ms': round(1000 / median(updates), 0),
    'gpu-process cpu ms': round(median(gpu), 0),
    'all cpu ms': round(median(all), 0),
    'updates/s ratio': round(median(updates) / median(one.updates), 2),
    'gpu-process cpu ratio': round(median(gpu) / median(one.gpu), 2),
    'last loss': round(losses.at(-1), 6),
    runs: updates.length,
  }))
}

/**
 * One run; adds its figures, per update, to `figures`.
 * @param {import('./support/context.mjs').BenchContext} context
 * @param {Awaited<ReturnType<typeof serveProduct>>} product
 * @param {{ tabs: number, updates: number[], gpu: number[], all: number[], losses: number[] }} figures
 */
async function train(context, { url, room: { openCoordinator, openRankTab } }, figures) {
  const together = await context.browser.newContext()
  const room = await openCoordinator(together, url, { ...OPTIONS, cli: 1, ranks: figures.tabs, compute_here: 0 })
  const invite = await room.until('invite')
  for (let rank = 1; rank <= figures.tabs; rank++) await openRankTab(together, invite.url, `Rank ${rank}`)
  const first = await at(WARM_UP_UPDATES)
  const last = await at(WARM_UP_UPDATES + UPDATES)
  await together.close()
  figures.updates.push((UPDATES * 1000) / (last.record.elapsed_ms - first.record.elapsed_ms))
  figures.gpu.push(((last.gpu - first.gpu) * 1000) / UPDATES)
  figures.all.push(((last.all - first.all) * 1000) / UPDATES)
  figures.losses = room.records.map(({ loss }) => loss)

  /** @param {number} step */
  async function at(step) {
    const { record } = await room.until('record', (event) => event.record.step === step)
    return { record, gpu: await context.gpuSeconds(), all: await context.allSeconds() }
  }
}

/** @param {{ tabs: number, losses: number[] }[]} runs */
function checkLosses([one, ...more]) {
  for (const { tabs, losses } of more) {
    for (const [step, loss] of losses.entries()) {
      const difference = Math.abs(loss - one.losses[step]) / loss
      if (!(difference < LOSS_TOLERANCE)) throw new Error(`Cannot compare tabs: in update ${step + 1} ${tabs} tabs have loss ${loss}, one has ${one.losses[step]}`)
    }
  }
}
