import { type Browser, type BrowserContext, type Page, chromium } from '@playwright/test'
import { CHROMIUM_ARGS, findBrowser } from '../../src/cli/find-browser.mjs'
import type { CliEvent } from '../../src/protocol/cli-events.ts'
import type { EvaluationRecord, StepRecord } from '../../src/protocol/step-record.ts'
import { type RunningServer, startServer } from '../../src/server/serve.ts'

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await findBrowser(), args: CHROMIUM_ARGS })
}

export async function serveBuild(): Promise<RunningServer> {
  return startServer({ port: 0, host: '127.0.0.1', webRoot: 'dist/web' })
}

/** A coordinator page and what it reports. */
export interface Room {
  readonly page: Page
  readonly events: CliEvent[]
  readonly records: StepRecord[]
  readonly evaluations: EvaluationRecord[]
  /** Resolves with the event when `match` is true for one, past or future; rejects when the run fails first. */
  until<T extends CliEvent['type']>(type: T, match?: (event: Extract<CliEvent, { type: T }>) => boolean): Promise<Extract<CliEvent, { type: T }>>
  close(): Promise<void>
}

export async function openCoordinator(context: BrowserContext, base: string, options: Readonly<Record<string, string | number | boolean>>): Promise<Room> {
  const page = await context.newPage()
  const events: CliEvent[] = []
  const waiters = new Set<() => void>()
  await page.exposeFunction('tabringReport', (event: CliEvent) => {
    events.push(event)
    for (const wake of waiters) wake()
  })
  const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]))
  await page.goto(`${base}/?${query}`)
  return {
    page,
    events,
    get records() {
      return events.flatMap((event) => (event.type === 'record' ? [event.record] : []))
    },
    get evaluations() {
      return events.flatMap((event) => (event.type === 'evaluation' ? [event.evaluation] : []))
    },
    until: (type, match = () => true) => waitFor(events, waiters, type, match),
    close: () => page.close(),
  }
}

function waitFor<T extends CliEvent['type']>(
  events: readonly CliEvent[],
  waiters: Set<() => void>,
  type: T,
  match: (event: Extract<CliEvent, { type: T }>) => boolean,
): Promise<Extract<CliEvent, { type: T }>> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = events.find((event): event is Extract<CliEvent, { type: T }> => event.type === type && match(event as Extract<CliEvent, { type: T }>))
      const failed = events.find((event) => event.type === 'status' && event.phase === 'failed')
      if (!found && !failed) return
      waiters.delete(look)
      if (found) resolve(found)
      else reject(new Error(failed?.type === 'status' ? failed.status : 'the run failed'))
    }
    waiters.add(look)
    look()
  })
}

/** Opens a joining tab that joins without a click, as the command line's do. */
export async function openRankTab(context: BrowserContext, inviteUrl: string, name: string): Promise<Page> {
  const page = await context.newPage()
  const url = new URL(inviteUrl)
  url.searchParams.set('auto', '1')
  url.searchParams.set('name', name)
  await page.goto(url.href)
  return page
}

/** Opens a joining tab and lets it join as a person does. */
export async function joinRoom(context: BrowserContext, inviteUrl: string, name: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(inviteUrl)
  await page.getByLabel(/your name/i).fill(name)
  await page.getByRole('button', { name: 'Join', exact: true }).click()
  return page
}
