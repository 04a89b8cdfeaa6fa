import { median, round } from './support/context.mjs'

const TABS = [2, 3, 4]
/** Bytes in a MB. */
const MB = 1e6
/** Small sums take little time and vary more: they are repeated more often. */
const SIZES = [
  { mb: 1, times: 4 },
  { mb: 4, times: 2 },
  { mb: 16, times: 1 },
]
/** Of sums of at most four numbers below 0.5. */
const ROUNDING = 1e-6
/** A new link starts slowly. */
const WARM_UP_MB = 4
/** Until all tabs have heard when they begin. */
const LEAD_MS = 50

/**
 * Ring all-reduce over tabs of one browser against the raw channels: over the same open links each tab sends and receives as many
 * frames of the same size, all at once and without arithmetic. MB/s are what each tab sends, in both. The links of one machine share
 * its cores: CPU time, of all of the browser's processes, decides there; the ratio of CPU times does not see other load.
 * @param {import('./support/context.mjs').BenchContext} context
 */
export async function run(context) {
  const rounds = Number(context.options.rounds ?? 4)
  const together = await context.browser.newContext()
  const peers = Array.from({ length: Math.max(...TABS) }, (_, rank) => `tab-${rank}`)
  const pages = []
  for (const peer of peers) {
    const page = await context.open('ring', together)
    await page.evaluate(`bench.boot('${peer}')`)
    pages.push(page)
  }
  const rows = []
  for (const tabs of TABS) {
    const ring = pages.slice(0, tabs)
    // All pages: one that has left closes its links.
    await onAll(pages, `form(${tabs}, ${JSON.stringify(peers.slice(0, tabs))})`)
    await measure(context, ring, { mb: WARM_UP_MB, times: 1, rounds: 1 })
    for (const { mb, times } of SIZES) rows.push(await measure(context, ring, { mb, times, rounds }))
  }
  await together.close()
  return rows
}

/**
 * @param {import('./support/context.mjs').BenchContext} context
 * @param {import('playwright').Page[]} ring
 * @param {{ mb: number, times: number, rounds: number }} settings
 */
async function measure(context, ring, { mb, times, rounds }) {
  const count = (mb * MB) / 4
  const sentMb = (mb * 2 * (ring.length - 1)) / ring.length
  const kinds = [
    { wall: [], gpu: [], all: [], prepare: 'prepareReduce', body: 'reduce', check: true },
    { wall: [], gpu: [], all: [], prepare: 'prepareExchange', body: 'exchange', check: false },
  ]
  for (let index = 0; index < rounds * times; index++) {
    // Now one first, now the other.
    for (const kind of index % 2 === 0 ? kinds : kinds.toReversed()) {
      await onAll(ring, `${kind.prepare}(${count})`)
      const [gpuBefore, allBefore] = [await context.gpuSeconds(), await context.allSeconds()]
      const spans = await onAll(ring, `${kind.body}(${Date.now() + LEAD_MS})`)
      kind.all.push((await context.allSeconds()) - allBefore)
      kind.gpu.push((await context.gpuSeconds()) - gpuBefore)
      kind.wall.push(Math.max(...spans.map(({ endedAt }) => endedAt)) - Math.min(...spans.map(({ startedAt }) => startedAt)))
      if (kind.check) await check(ring)
    }
  }
  const [own, raw] = kinds.map(({ wall, gpu, all }) => ({ ms: median(wall), gpuMs: mean(gpu) * 1000, cpuMs: mean(all) * 1000 }))
  return {
    tabs: ring.length,
    MB: mb,
    'ring ms': round(own.ms, 1),
    'raw ms': round(raw.ms, 1),
    'ring MB/s': round((sentMb / own.ms) * 1000, 1),
    'raw MB/s': round((sentMb / raw.ms) * 1000, 1),
    'ring/raw': round(raw.ms / own.ms, 3),
    'ring cpu ms': round(own.cpuMs, 0),
    'raw cpu ms': round(raw.cpuMs, 0),
    'ring/raw by cpu': round(raw.cpuMs / own.cpuMs, 3),
    'ring gpu-process cpu ms': round(own.gpuMs, 1),
    'raw gpu-process cpu ms': round(raw.gpuMs, 1),
    times: rounds * times,
  }
}

/** @param {import('playwright').Page[]} ring */
async function check(ring) {
  const results = await onAll(ring, 'check()')
  for (const [rank, { worst, digest }] of results.entries()) {
    if (!(worst < ROUNDING)) throw new Error(`Cannot compare the ring: sums of tab ${rank} are off by ${worst}`)
    if (digest !== results[0].digest) throw new Error(`Cannot compare the ring: tab ${rank} has other bits than tab 0`)
  }
}

/** @param {import('playwright').Page[]} pages @param {string} call */
function onAll(pages, call) {
  return Promise.all(pages.map((page) => page.evaluate(`bench.${call}`)))
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
