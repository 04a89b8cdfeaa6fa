import { render } from 'preact'
import { OptionError } from '../protocol/options.ts'
import { optionsFromQuery } from '../protocol/option-query.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import { openSignalling } from '../transport/open-signalling.ts'
import { inviteUrl, newInvite } from '../transport/room-invite.ts'
import { InsecureNotice, Notice } from '../ui/notice.tsx'
import { browserPorts, runPreflight } from '../ui/preflight.ts'
import { automate } from './automation.ts'
import { openBrowserCheckpoints } from './open-browser-checkpoints.ts'
import { placeAt, readAt } from './local-files.ts'
import { Session } from './session.ts'
import { readStart } from './start-folder.ts'
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
const PAGE_PARAMETERS = ['cli', 'ranks', 'compute_here', 'text', 'validation', 'files', 'start', 'base_model', 'task'] as const

const host = document.getElementById('app')
if (!host) throw new Error('Cannot show the page: the element #app is missing')
const query = new URLSearchParams(location.search)
const options = readOptions(query, host)
if (options) {
  await open(options, host).catch((cause: unknown) => {
    refuse(cause instanceof Error ? cause.message : String(cause), host)
    throw cause
  })
}

function readOptions(from: URLSearchParams, into: HTMLElement): TrainingOptions | null {
  try {
    return resolveOptions(optionsFromQuery(from, PAGE_PARAMETERS))
  } catch (cause) {
    if (!(cause instanceof OptionError)) throw cause
    refuse(cause.message, into)
    return null
  }
}

/** Says on the page and to the command line that there will be no room. */
function refuse(sentence: string, into: HTMLElement): void {
  window.tabringReport?.({ type: 'status', phase: 'failed', status: sentence })
  render(<Refusal sentence={sentence} />, into)
}

async function open(chosen: TrainingOptions, into: HTMLElement): Promise<void> {
  render(
    <Notice title="Opening a room">
      <p>Checking this browser …</p>
    </Notice>,
    into,
  )
  const items = await runPreflight(browserPorts())
  if (!isSecureContext) return render(<InsecureNotice preflight={items} />, into)
  const files = query.get('files')
  const kind = query.get('start')
  const start = files !== null && (kind === 'weights' || kind === 'checkpoint') ? await readStart(readAt(files), { kind, name: query.get('base_model') }) : null
  const invite = newInvite()
  const self = crypto.randomUUID()
  const ownPeer = crypto.randomUUID()
  const url = inviteUrl(location.origin, invite)
  const report = (event: CliEvent): void => window.tabringReport?.(event)
  const signalling = await openSignalling({ invite, self, origin: location.origin })
  const session = new Session({
    signalling,
    self,
    build: __BUILD_HASH__,
    inviteUrl: url,
    ownPeer,
    computeHere: query.get('compute_here') !== '0' && items.every(({ ok }) => ok),
    options: chosen,
    start,
    place: files === null ? null : placeAt(files),
    checkpoints: files === null ? await openBrowserCheckpoints() : null,
    evaluatesOnly: query.get('task') === 'eval',
    report,
  })
  window.tabringSave = () => saveModel(session, { merged: false })
  window.tabringStop = () => session.stop()
  const ownUrl = withQuery(url, { auto: '1', peer: ownPeer, profile: chosen.profile, name: 'Host' })
  render(<CoordinatorApp session={session} preflight={items} ownUrl={ownUrl} />, into)
  await session.announce()
  if (query.get('cli') === '1') automate(session, { ranks: Number(query.get('ranks') ?? '1'), validates: query.get('validation') === 'file' })
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
    <Notice title="This page cannot open a room">
      <p class="error" role="alert">
        {sentence}
      </p>
      <p>
        <a href="/">Open it without options</a>
      </p>
    </Notice>
  )
}
