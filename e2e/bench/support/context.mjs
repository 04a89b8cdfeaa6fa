import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright'
import sirv from 'sirv'
import { build } from 'vite'
import { CHROMIUM_ARGS } from '../../../src/cli/find-browser.mjs'

/**
 * What a bench works with: a browser, its pages, and the GPU process's clock.
 * @typedef {object} BenchContext
 * @property {Readonly<Record<string, string>>} options words of the command line as --name=value
 * @property {string} root the project's folder
 * @property {import('playwright').Browser} browser
 * @property {string} origin of the server with the built pages
 * @property {(page: string, within?: import('playwright').BrowserContext) => Promise<import('playwright').Page>} open a page of e2e/bench/pages,
 *   loaded; pages of one context can hear each other
 * @property {() => Promise<number>} gpuSeconds CPU time of the browser's GPU process so far: it counts no other load on the machine
 * @property {() => Promise<number>} allSeconds CPU time of all of the browser's processes so far
 * @property {(name: string, rows: Row[]) => void} report prints rows as a table and appends them to the results
 * @property {() => Promise<void>} close
 */

/** @typedef {Record<string, string | number | boolean | null>} Row */

/**
 * Builds the pages, serves them and starts the browser.
 * @param {{ root: string, browser: string, options: Record<string, string> }} setup
 * @returns {Promise<BenchContext>}
 */
export async function openContext({ root, browser: executablePath, options }) {
  const out = mkdtempSync(join(tmpdir(), 'tabring-bench-'))
  // What is built is what is measured, whatever is edited meanwhile.
  const commit = commitOf(root)
  await buildPages(root, out)
  const server = await serve(out)
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS })
  const session = await browser.newBrowserCDPSession()
  const { origin } = server

  /** @param {string} name @param {{ newPage(): Promise<import('playwright').Page> }} within */
  async function open(name, within = browser) {
    const page = await within.newPage()
    page.on('pageerror', (error) => process.stderr.write(`${name}: ${error.message}\n`))
    page.on('console', (message) => {
      if (message.type() === 'error') process.stderr.write(`${name}: ${message.text()}\n`)
    })
    await page.goto(`${origin}/page/${name}`)
    await page.waitForFunction(() => 'bench' in globalThis)
    return page
  }

  /** @param {(type: string) => boolean} counts */
  async function cpuSeconds(counts) {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    return processInfo.filter(({ type }) => counts(type)).reduce((sum, { cpuTime }) => sum + cpuTime, 0)
  }

  const adapter = await adapterOf(await open('adapter'))
  return {
    options,
    root,
    browser,
    origin,
    open,
    gpuSeconds: () => cpuSeconds((type) => type === 'GPU'),
    allSeconds: () => cpuSeconds(() => true),
    report: (name, rows) => report(root, { commit, adapter, bench: name, rows }),
    close: async () => {
      await browser.close()
      server.close()
      rmSync(out, { recursive: true, force: true })
    },
  }
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? NaN) : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2
}

/** @param {number} value @param {number} digits */
export function round(value, digits) {
  return Number(value.toFixed(digits))
}

/** @param {string} root @param {string} out */
async function buildPages(root, out) {
  const folder = join(root, 'e2e', 'bench', 'pages')
  const input = Object.fromEntries(readdirSync(folder).map((file) => [file.replace(/\.ts$/, ''), join(folder, file)]))
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    define: { 'process.env.NODE_ENV': '"production"' },
    // As in vite.config.ts.
    resolve: { alias: [{ find: /^simple-peer$/, replacement: 'simple-peer/simplepeer.min.js' }] },
    worker: { format: 'es' },
    build: {
      outDir: out,
      emptyOutDir: true,
      target: 'es2022',
      chunkSizeWarningLimit: 3000,
      modulePreload: false,
      rolldownOptions: { input, output: { entryFileNames: '[name].js' } },
    },
  })
}

/** @param {string} folder */
async function serve(folder) {
  const files = sirv(folder, { dev: true })
  const server = createServer((request, response) => {
    const page = request.url?.match(/^\/page\/([\w-]+)/)?.[1]
    if (!page) {
      files(request, response, () => response.writeHead(404).end())
      return
    }
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><meta charset="utf-8"><title>${page}</title><link rel="icon" href="data:,"><script type="module" src="/${page}.js"></script>`)
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(undefined)))
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('Cannot serve the bench pages: the server has no port')
  return { origin: `http://127.0.0.1:${address.port}`, close: () => server.close() }
}

/** @param {import('playwright').Page} page @returns {Promise<string>} */
async function adapterOf(page) {
  const name = await page.evaluate('bench.adapter()')
  await page.close()
  return String(name)
}

/** Its sign + says that something is not committed. @param {string} root */
function commitOf(root) {
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--', 'src', 'shaders', 'e2e/bench', ':(exclude)e2e/bench/results') ? '+' : '')
}

/** @param {string} root @param {{ commit: string, adapter: string, bench: string, rows: Row[] }} results */
function report(root, results) {
  const { commit, adapter, bench, rows } = results
  const folder = join(root, 'e2e', 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, `${bench}.jsonl`), `${JSON.stringify({ date: new Date().toISOString(), ...results })}\n`)
  process.stdout.write(`\n${bench} on ${adapter}, ${commit}\n${table(rows)}\n`)
}

/** @param {Row[]} rows */
function table(rows) {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))]
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)))
  return cells.map((line) => line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')).join('\n')
}
