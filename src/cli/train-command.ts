import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright'
import { unzipFiles } from '../checkpoint/zip.ts'
import { optionsToQuery } from '../protocol/option-query.ts'
import { OptionError, type TrainingOptions } from '../protocol/options.ts'
import { startServer } from '../server/serve.ts'
import { CHROMIUM_ARGS, findBrowser } from './find-browser.mjs'
import { TrainingReport } from './training-report.ts'
import { webRoot } from './web-root.ts'

export interface TrainSettings {
  readonly ranks: number
  readonly trainFile: string | null
  readonly overwrite: boolean
  readonly options: TrainingOptions
}

/** Ranks that are not there by then will not come. */
const READY_DEADLINE_MS = 90_000
const DOWNLOAD_DEADLINE_MS = 120_000

/**
 * The main job without a person: serves, opens headless tabs, trains, writes the model folder.
 * @throws a sentence; every tab and the server are closed by then.
 */
export async function train(settings: TrainSettings): Promise<void> {
  const folder = resolve(settings.options.output_dir)
  checkFolder(folder, settings)
  if (settings.trainFile !== null && !statSync(settings.trainFile, { throwIfNoEntry: false })?.isFile()) {
    throw new OptionError('train_file', settings.trainFile, { allowed: 'the path of a text file' })
  }
  const executablePath = await findBrowser()
  const server = await startServer({ port: 0, host: '127.0.0.1', webRoot: webRoot() })
  let browser: Browser | null = null
  try {
    browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS })
    await runInTabs(browser, server.url, settings, folder)
  } finally {
    await browser?.close()
    await server.close()
  }
}

function checkFolder(folder: string, { overwrite, options }: TrainSettings): void {
  if (overwrite || !existsSync(folder) || readdirSync(folder).length === 0) return
  throw new OptionError('output_dir', options.output_dir, { allowed: 'an empty or new folder, or --overwrite_output_dir' })
}

async function runInTabs(browser: Browser, base: string, settings: TrainSettings, folder: string): Promise<void> {
  const context = await browser.newContext({ acceptDownloads: true })
  const report = new TrainingReport(settings.options)
  browser.once('disconnected', () => report.fail('The browser was closed or has crashed'))
  const coordinator = await context.newPage()
  watch(coordinator, 'The coordinator tab', report)
  await coordinator.exposeFunction('tabringReport', report.hear)
  const query = optionsToQuery(settings.options)
  query.set('cli', '1')
  query.set('ranks', String(settings.ranks))
  if (settings.trainFile !== null) query.set('text', 'file')
  await coordinator.goto(`${base}/?${query}`)
  const invite = await report.invited
  const tabs = await openRanks(context, invite, settings.ranks - 1, report)
  if (settings.trainFile !== null) await coordinator.setInputFiles('input[type=file]', settings.trainFile)
  await startedInTime(report, coordinator, tabs)
  const stop = (): void => {
    report.note('Stopping after the planned updates; Ctrl-C again ends at once')
    process.once('SIGINT', () => process.exit(130))
    void coordinator.evaluate('window.tabringStop()')
  }
  process.once('SIGINT', stop)
  await report.finished
  process.removeListener('SIGINT', stop)
  await save(coordinator, folder)
  report.end(folder)
}

async function openRanks(context: BrowserContext, invite: string, count: number, report: TrainingReport): Promise<Page[]> {
  const pages: Page[] = []
  for (let rank = 2; rank < count + 2; rank++) {
    const page = await context.newPage()
    watch(page, `The tab of rank ${rank}`, report)
    const url = new URL(invite)
    url.searchParams.set('auto', '1')
    url.searchParams.set('name', `Rank ${rank}`)
    await page.goto(url.href)
    pages.push(page)
  }
  return pages
}

/** A tab that is gone is a rank that left; training goes on without it, and the terminal says so. */
function watch(page: Page, who: string, report: TrainingReport): void {
  page.on('crash', () => report.note(`${who} has crashed`))
  page.on('pageerror', ({ message }) => report.note(`${who}: ${message}`))
}

async function startedInTime(report: TrainingReport, coordinator: Page, tabs: readonly Page[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((done) => {
    timer = setTimeout(() => done('late'), READY_DEADLINE_MS)
  })
  const first = await Promise.race([report.started, report.finished, late])
  clearTimeout(timer)
  if (first !== 'late') return
  const states = await Promise.all(
    [coordinator, ...tabs].map((page) =>
      page
        .getByRole('status')
        .first()
        .textContent({ timeout: 2_000 })
        .catch(() => 'does not answer'),
    ),
  )
  const alerts = await coordinator.getByRole('alert').allTextContents()
  throw new Error(`Cannot start: not all ranks were ready within ${READY_DEADLINE_MS / 1000} s. The tabs say: ${[...states, ...alerts].join(' / ')}`)
}

/** Fetches the zip as a download and unpacks it. */
async function save(coordinator: Page, folder: string): Promise<void> {
  const arriving = coordinator.waitForEvent('download', { timeout: DOWNLOAD_DEADLINE_MS })
  await Promise.all([arriving, coordinator.evaluate('window.tabringSave()')])
  const path = await (await arriving).path()
  mkdirSync(folder, { recursive: true })
  for (const { name, bytes } of unzipFiles(readFileSync(path))) writeFileSync(join(folder, name.slice(name.lastIndexOf('/') + 1)), bytes)
}
