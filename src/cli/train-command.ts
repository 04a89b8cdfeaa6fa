import { R_OK } from 'node:constants'
import { accessSync, readdirSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright'
import { optionsToQuery } from '../protocol/option-query.ts'
import { OptionError, type TrainingOptions } from '../protocol/options.ts'
import { startServer } from '../server/serve.ts'
import { CHROMIUM_ARGS, findBrowser } from './find-browser.mjs'
import { onInterrupt } from './interrupt.ts'
import { isCheckpointName, writeCheckpoint } from './checkpoint-folders.ts'
import { PageFiles } from './page-files.ts'
import type { RunStart } from './run-start.ts'
import { saveModel } from './save-model.ts'
import { statPath, whyNotWritable } from './stat-path.ts'
import { TrainingReport } from './training-report.ts'
import { webRoot } from './web-root.ts'

export interface TrainSettings {
  /** eval: measures the model on train_file, and writes nothing. */
  readonly task: 'train' | 'eval'
  readonly ranks: number
  /** Whether the coordinator's tab is one of the ranks. */
  readonly computeHere: boolean
  readonly trainFile: string | null
  /** Null to hold out part of the data. */
  readonly validationFile: string | null
  readonly overwrite: boolean
  readonly options: TrainingOptions
  /** Null for random weights. */
  readonly start: RunStart | null
}

/** Two ranks that are not there by then will not come. */
const READY_DEADLINE_MS = 60_000
/** Tabs share this computer and compile their shaders one after the other. */
const READY_PER_FURTHER_RANK_MS = 10_000
/** A browser that does not close by then is killed as the process ends. */
const CLOSE_DEADLINE_MS = 10_000

/**
 * The main job without a person: serves, opens headless tabs, trains, writes the model folder.
 * @throws a sentence; every tab and the server are closed by then. An OptionError comes before anything was started.
 */
export async function train(settings: TrainSettings): Promise<void> {
  const folder = resolve(settings.options.output_dir)
  checkRanks(settings)
  if (settings.task === 'train') checkFolder(folder, settings)
  checkDataFile(settings.task === 'eval' ? 'eval_file' : 'train_file', settings.trainFile)
  checkDataFile('validation_file', settings.validationFile)
  const executablePath = await findBrowser()
  const { start, options } = settings
  const report = new TrainingReport({ past: start?.state?.records ?? [], trains: options.use_peft ? 'adapters' : options.freeze === '' ? 'all' : 'part' })
  const files = new PageFiles(start?.files ?? [], (incoming) => writeCheckpoint(folder, incoming, options.save_total_limit))
  let stop = (): void => process.exit(130)
  using _interrupt = onInterrupt(() => stop())
  const server = await startServer({ port: 0, host: '127.0.0.1', webRoot: webRoot(), handle: files.handle })
  let browser: Browser | null = null
  try {
    browser = await launch(executablePath)
    const tabs = await openTabs(browser, `${server.url}/?${pageQuery(settings, files.path)}`, settings, report)
    stop = () => stopTraining(tabs.coordinator, report)
    await report.finished
    if (settings.task === 'train') {
      await saveModel(tabs.coordinator, folder)
      report.end(folder)
    }
  } finally {
    report.close()
    if (browser) await Promise.race([browser.close(), after(CLOSE_DEADLINE_MS)])
    await server.close()
  }
}

function checkRanks({ ranks, options }: TrainSettings): void {
  if (ranks > options.max_ranks) throw new OptionError('ranks', ranks, { allowed: `at most max_ranks, ${options.max_ranks}` })
}

function checkFolder(folder: string, { overwrite, options, start }: TrainSettings): void {
  const there = statPath(folder)
  if (there && !there.isDirectory()) throw new OptionError('output_dir', options.output_dir, { allowed: 'a folder; this is a file' })
  const problem = whyNotWritable(folder)
  if (problem !== null) throw new OptionError('output_dir', options.output_dir, { allowed: `a folder that can be written; ${problem}` })
  // A copy of a checkpoint under another name may lie anywhere.
  const goesOn = start?.kind === 'checkpoint' && isCheckpointName(basename(start.folder)) && dirname(start.folder) === folder
  if (overwrite || goesOn || !there || readdirSync(folder).length === 0) return
  throw new OptionError('output_dir', options.output_dir, { allowed: 'an empty or new folder, or --overwrite_output_dir' })
}

function checkDataFile(flag: string, path: string | null): void {
  if (path === null) return
  if (!statPath(path)?.isFile()) throw new OptionError(flag, path, { allowed: 'the path of a text, JSONL, JSON or CSV file' })
  try {
    accessSync(path, R_OK)
  } catch {
    throw new OptionError(flag, path, { allowed: 'a file that may be read' })
  }
}

async function launch(executablePath: string): Promise<Browser> {
  try {
    // Playwright would answer Ctrl-C by killing the browser, and the model with it.
    return await chromium.launch({ executablePath, args: CHROMIUM_ARGS, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false })
  } catch (cause) {
    throw new Error(`Cannot start the browser ${executablePath}: ${firstLine(cause)}`, { cause })
  }
}

interface Tabs {
  readonly coordinator: Page
  /** Those with a tab of their own, with their numbers. */
  readonly ranks: { readonly rank: number; readonly page: Page }[]
}

/** Opens all tabs; training runs when this resolves. */
async function openTabs(browser: Browser, page: string, settings: TrainSettings, report: TrainingReport): Promise<Tabs> {
  browser.once('disconnected', () => report.fail('The browser was closed or has crashed'))
  const context = await browser.newContext({ acceptDownloads: true })
  const tabs: Tabs = { coordinator: await context.newPage(), ranks: [] }
  const deadlineMs = READY_DEADLINE_MS + Math.max(0, settings.ranks - 2) * READY_PER_FURTHER_RANK_MS
  const opening = open(context, tabs, page, settings, report)
  if ((await Promise.race([opening, report.finished, after(deadlineMs)])) === 'late') {
    opening.catch(() => {}) // it ends when its tabs are closed
    throw new Error(`Cannot start: not all ranks were ready within ${deadlineMs / 1000} s. ${await whatTabsShow(tabs)}`)
  }
  return tabs
}

async function open(context: BrowserContext, { coordinator, ranks }: Tabs, url: string, settings: TrainSettings, report: TrainingReport): Promise<void> {
  coordinator.on('crash', () => report.fail('The coordinator tab has crashed; it may have run out of memory'))
  coordinator.on('pageerror', ({ message }) => report.coordinatorError(message))
  await coordinator.exposeFunction('tabringReport', report.hear)
  await coordinator.goto(url)
  const invite = await report.invited
  failOnPreflight(coordinator, report)
  for (let rank = settings.computeHere ? 2 : 1; rank <= settings.ranks; rank++) {
    const page = await context.newPage()
    ranks.push({ rank, page })
    page.on('crash', () => report.rankCrashed(rank))
    page.on('pageerror', ({ message }) => report.note(`The tab of rank ${rank}: ${message}`))
    await page.goto(rankUrl(invite, rank))
  }
  if (settings.validationFile !== null) await coordinator.setInputFiles('input[name=validation_file]', settings.validationFile)
  if (settings.trainFile !== null) await coordinator.setInputFiles('input[name=train_file]', settings.trainFile)
  await report.started
}

/** All tabs are of one browser: what the coordinator's tab lacks, ranks lack too, and waiting for them is in vain. */
function failOnPreflight(coordinator: Page, report: TrainingReport): void {
  const missing = coordinator.getByRole('listitem').filter({ has: coordinator.getByRole('img', { name: 'Missing:' }) })
  missing
    .first()
    .waitFor({ timeout: READY_DEADLINE_MS })
    .then(async () => report.fail(`Cannot start: ${(await missing.allInnerTexts()).map(oneLine).join(' ')}`))
    .catch(() => {}) // nothing is missing, or the tab is closed
}

function pageQuery({ task, options, ranks, computeHere, trainFile, validationFile, start }: TrainSettings, files: string): URLSearchParams {
  const query = optionsToQuery(options)
  query.set('cli', '1')
  query.set('ranks', String(ranks))
  query.set('files', files)
  if (start) query.set('start', start.kind)
  if (start && start.baseModel !== null) query.set('base_model', start.baseModel)
  if (task !== 'train') query.set('task', task)
  if (!computeHere) query.set('compute_here', '0')
  if (trainFile !== null) query.set('text', 'file')
  if (validationFile !== null) query.set('validation', 'file')
  return query
}

function rankUrl(invite: string, rank: number): string {
  const url = new URL(invite)
  url.searchParams.set('auto', '1')
  url.searchParams.set('name', `Rank ${rank}`)
  return url.href
}

function stopTraining(coordinator: Page, report: TrainingReport): void {
  report.note('Stopping after the planned updates; Ctrl-C again ends at once')
  coordinator.evaluate('window.tabringStop()').catch((cause: unknown) => report.fail(`Cannot stop: ${firstLine(cause)}`))
}

async function whatTabsShow({ coordinator, ranks }: Tabs): Promise<string> {
  const named: readonly (readonly [string, Page])[] = [['The coordinator', coordinator], ...ranks.map(({ rank, page }) => [`Rank ${rank}`, page] as const)]
  const shown = await Promise.all(named.map(async ([who, page]) => `${who}: ${await statusOf(page)}`))
  return shown.join('; ')
}

async function statusOf(page: Page): Promise<string> {
  const texts = page.getByRole('status').or(page.getByRole('alert')).allInnerTexts()
  const shown = await Promise.race([texts, after(2_000)]).catch(() => 'late' as const)
  if (shown === 'late') return 'does not answer'
  return oneLine(shown.join(' ')) || 'shows nothing'
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function after(ms: number): Promise<'late'> {
  // A wait that is not needed any more must not keep the process.
  return new Promise((done) => void setTimeout(() => done('late'), ms).unref())
}

/** Playwright's messages go on with a log of calls. */
function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? ''
}
