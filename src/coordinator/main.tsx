import { render } from 'preact'
import { signal } from '@preact/signals'
import { OptionError } from '../protocol/options.ts'
import { optionsFromQuery } from '../protocol/option-query.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import { openSignalling } from '../transport/open-signalling.ts'
import { inviteUrl, newInvite } from '../transport/room-invite.ts'
import { type PreflightItem, browserPorts, runPreflight } from '../ui/preflight.ts'
import { automate } from './automation.ts'
import { Session } from './session.ts'
import { CoordinatorApp } from './ui/app.tsx'
import { saveModel } from './ui/save-model.ts'
import '../ui/style.css'

declare const __BUILD_HASH__: string

declare global {
  interface Window {
    /** Present when a command line opened this page. */
    tabringReport?: (event: CliEvent) => void
    tabringSave?: () => Promise<void>
    tabringStop?: () => void
  }
}

/** Query parameters of the page itself; all others are options. */
const PAGE_PARAMETERS = ['cli', 'ranks', 'compute_here', 'text'] as const

const host = document.getElementById('app')
if (!host) throw new Error('Cannot show the page: the element #app is missing')
const query = new URLSearchParams(location.search)
const preflight = signal<readonly PreflightItem[] | null>(null)
const options = readOptions(query, host)
if (options) await open(options, host)

function readOptions(from: URLSearchParams, into: HTMLElement): TrainingOptions | null {
  try {
    return resolveOptions(optionsFromQuery(from, PAGE_PARAMETERS))
  } catch (cause) {
    if (!(cause instanceof OptionError)) throw cause
    window.tabringReport?.({ type: 'status', phase: 'failed', status: cause.message })
    render(<Refusal sentence={cause.message} />, into)
    return null
  }
}

async function open(chosen: TrainingOptions, into: HTMLElement): Promise<void> {
  const invite = newInvite()
  const self = crypto.randomUUID()
  const ownPeer = crypto.randomUUID()
  const url = inviteUrl(location.origin, invite)
  const report = (event: CliEvent): void => window.tabringReport?.(event)
  const items = await runPreflight(browserPorts())
  preflight.value = items
  const signalling = await openSignalling({ invite, self, origin: location.origin })
  const session = new Session({
    signalling,
    self,
    build: __BUILD_HASH__,
    inviteUrl: url,
    ownPeer,
    computeHere: query.get('compute_here') !== '0' && items.every(({ ok }) => ok),
    options: chosen,
    report,
  })
  window.tabringSave = () => saveModel(session)
  window.tabringStop = () => session.stop()
  const ownUrl = withQuery(url, { auto: '1', peer: ownPeer, profile: chosen.profile, name: 'This tab' })
  render(<CoordinatorApp session={session} preflight={items} ownUrl={ownUrl} />, into)
  await session.announce()
  if (query.get('cli') === '1') automate(session, Number(query.get('ranks') ?? '1'))
  if (query.get('text') !== 'file') await session.useBook()
}

/** The invitation with page parameters before the fragment. */
function withQuery(url: string, parameters: Readonly<Record<string, string>>): string {
  const parsed = new URL(url)
  for (const [name, value] of Object.entries(parameters)) parsed.searchParams.set(name, value)
  return parsed.href
}

function Refusal({ sentence }: { readonly sentence: string }) {
  return (
    <main>
      <h1>Tabring</h1>
      <p class="error" role="alert">
        {sentence}
      </p>
      <p>
        <a href="/">Open the page without options</a>
      </p>
    </main>
  )
}
