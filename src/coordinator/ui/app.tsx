import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Logo } from '../../ui/logo.tsx'
import type { PreflightItem } from '../../ui/preflight.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { SessionPhase, SessionView } from '../session-view.ts'
import { Charts } from './charts.tsx'
import { Controls } from './controls.tsx'
import './coordinator.css'
import './ring.css'
import './run.css'
import { Events } from './events.tsx'
import { Invite } from './invite.tsx'
import { Kept } from './kept.tsx'
import { RankTable } from './rank-table.tsx'
import { RingPicture } from './ring-picture.tsx'
import { RunStatus } from './run-status.tsx'
import { Samples } from './samples.tsx'
import { Settings } from './settings.tsx'
import { pageTitle } from './title.ts'

const RUNNING: readonly SessionPhase[] = ['preparing', 'training', 'paused', 'stopping']
const ENDED: readonly SessionPhase[] = ['finished', 'failed']

export interface CoordinatorAppProps {
  readonly session: SessionView
  readonly preflight: readonly PreflightItem[] | null
  /** The page that computes inside this one. */
  readonly ownUrl: string
}

/** Before a run the choices come first, then the run itself does: in the document too, so that keyboard and eye agree. */
export function CoordinatorApp({ session, preflight, ownUrl }: CoordinatorAppProps) {
  const running = useComputed(() => RUNNING.includes(session.phase.value)).value
  const started = useComputed(() => session.records.value.length > 0).value || running
  const saved = useSignal(0)
  const unsaved = useComputed(() => ENDED.includes(session.phase.value) && session.records.value.length !== saved.value).value
  useEffect(() => {
    // Another run makes another model.
    if (running) saved.value = 0
  }, [running])
  useTitle(session)
  useLeaveWarning(running || unsaved)
  return (
    <>
      <header class="bar">
        <p class="brand">
          <Logo /> Tabring
        </p>
        <Room url={session.inviteUrl.value} />
        <Controls
          session={session}
          unsaved={unsaved}
          onSaved={(updates) => {
            saved.value = updates
          }}
        />
      </header>
      <main class="stack">
        <RunStatus session={session} />
        {started ? <Run session={session} locked={running} preflight={preflight} /> : <Choices session={session} preflight={preflight} />}
      </main>
      {session.computeHere.value && (
        // Its controls are for no one: the switch on this page turns it off.
        <div class="own-frame" inert>
          <iframe title="The rank of this tab" src={ownUrl} />
        </div>
      )}
    </>
  )
}

interface PartProps {
  readonly session: SessionView
  readonly preflight: readonly PreflightItem[] | null
}

function Choices({ session, preflight }: PartProps) {
  return (
    <div class="pair">
      <Settings session={session} locked={false} folded={false} />
      <div class="stack">
        <Kept session={session} locked={false} />
        <Invite session={session} preflight={preflight} numbered />
        <Ring session={session} />
        <Events session={session} />
      </div>
    </div>
  )
}

function Run({ session, preflight, locked }: PartProps & { readonly locked: boolean }) {
  return (
    <>
      <div class="progress-cards">
        <Charts session={session} />
        <Samples session={session} />
      </div>
      <Ring session={session} />
      <div class="pair">
        <div class="stack">
          <Settings session={session} locked={locked} folded />
          <Kept session={session} locked={locked} />
          <Events session={session} />
        </div>
        <Invite session={session} preflight={preflight} numbered={false} />
      </div>
    </>
  )
}

function Ring({ session }: { readonly session: SessionView }) {
  const ranks = useThrottled(session.ranks)
  return (
    <section class="card ring-card" aria-labelledby="ring-title">
      <h2 id="ring-title">The ring</h2>
      <div class="ring-parts">
        <RingPicture ranks={ranks} running={session.phase.value === 'training'} />
        <RankTable ranks={ranks} />
      </div>
    </section>
  )
}

function Room({ url }: { readonly url: string }) {
  return (
    <p class="room">
      Room <strong>{new URL(url).searchParams.get('room')}</strong>
    </p>
  )
}

function useTitle(session: SessionView): void {
  const records = useThrottled(session.records)
  const title = pageTitle(session.phase.value, records.at(-1), session.maxSteps.value)
  useEffect(() => {
    document.title = title
  }, [title])
}

/** Asks before a tab is closed that trains, or that holds a model which nobody has saved. */
function useLeaveWarning(warn: boolean): void {
  useEffect(() => {
    if (!warn) return
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [warn])
}
