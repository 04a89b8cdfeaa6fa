import { useEffect, useState } from 'preact/hooks'
import { compact, duration, loss } from '../../ui/format.ts'
import { Logo } from '../../ui/logo.tsx'
import type { PreflightItem } from '../../ui/preflight.ts'
import { PreflightList } from '../../ui/preflight-list.tsx'
import type { SessionPhase, SessionView } from '../session-view.ts'
import { Charts } from './charts.tsx'
import { Invite } from './invite.tsx'
import { OptionForm } from './option-form.tsx'
import { RankTable } from './rank-table.tsx'
import { SourceForm } from './source-form.tsx'
import { pageTitle } from './title.ts'

const RUNNING: readonly SessionPhase[] = ['preparing', 'training', 'paused', 'stopping']

export interface CoordinatorAppProps {
  readonly session: SessionView
  readonly preflight: readonly PreflightItem[] | null
  /** The page that computes inside this one. */
  readonly ownUrl: string
}

export function CoordinatorApp({ session, preflight, ownUrl }: CoordinatorAppProps) {
  const phase = session.phase.value
  const running = RUNNING.includes(phase)
  const title = pageTitle(phase, session.records.value.at(-1), session.maxSteps.value)
  useEffect(() => {
    document.title = title
  }, [title])
  useEffect(() => {
    if (!running) return
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [running])
  return (
    <>
      <header class="top">
        <Logo />
        <h1>Tabring</h1>
        <p class={`status ${phase === 'failed' ? 'error' : ''}`} role="status">
          {session.status.value}
        </p>
        <Controls session={session} />
      </header>
      <main class="columns">
        <div class="stack">
          <article>
            <h2>1. What to train</h2>
            <SourceForm session={session} locked={running} />
            <OptionForm session={session} locked={running} />
            <ModelSize session={session} />
          </article>
        </div>
        <div class="stack">
          <article>
            <h2>2. Who computes</h2>
            <Invite url={session.inviteUrl.value} />
            <label>
              <input type="checkbox" role="switch" checked={session.computeHere.value} onChange={({ currentTarget }) => session.setComputeHere(currentTarget.checked)} /> This tab
              computes too
            </label>
            <PreflightList items={preflight} />
            <RankTable ranks={session.ranks.value} />
          </article>
          <article>
            <h2>3. How it goes</h2>
            <Figures session={session} />
            <Charts session={session} />
          </article>
          <article>
            <h2>What it writes</h2>
            <Samples session={session} />
          </article>
          <article>
            <h2>What happened</h2>
            <Events session={session} />
          </article>
        </div>
      </main>
      {session.computeHere.value && <iframe class="own" title="The rank of this tab" src={ownUrl} tabIndex={-1} aria-hidden="true" />}
    </>
  )
}

function Controls({ session }: { readonly session: SessionView }) {
  const phase = session.phase.value
  const [error, setError] = useState('')
  const attempt = (action: () => Promise<void>): void => {
    setError('')
    action().catch((cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)))
  }
  return (
    <div class="buttons">
      <button type="button" disabled={!session.canStart.value} onClick={() => attempt(() => session.start())}>
        Start
      </button>
      {phase === 'paused' ? (
        <button type="button" onClick={() => session.resume()}>
          Resume
        </button>
      ) : (
        <button type="button" class="secondary" disabled={phase !== 'training'} onClick={() => session.pause()}>
          Pause
        </button>
      )}
      <button type="button" class="secondary" disabled={!['preparing', 'training', 'paused'].includes(phase)} onClick={() => session.stop()}>
        Stop
      </button>
      <button type="button" class="secondary" disabled={session.records.value.length === 0} onClick={() => attempt(() => saveModel(session))}>
        Save model
      </button>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

/** Hands the zip to the browser as a download. */
export async function saveModel(session: SessionView): Promise<void> {
  const { name, blob } = await session.save()
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has its own hold on the blob once it has started.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

function ModelSize({ session }: { readonly session: SessionView }) {
  const options = session.options.value
  const parameters = session.parameters.value
  const rows = options.global_batch_size ?? options.per_device_train_batch_size * options.gradient_accumulation_steps * Math.max(1, session.ranks.value.length)
  return (
    <p class="quiet">
      {parameters === null ? 'The model’s size shows when training starts.' : `${compact(parameters)} parameters, a vocabulary of ${session.vocabSize.value}.`} About{' '}
      {compact(rows * options.block_size)} tokens per update.
    </p>
  )
}

function Figures({ session }: { readonly session: SessionView }) {
  const records = session.records.value
  const last = records.at(-1)
  const total = session.maxSteps.value
  const perUpdate = last ? last.elapsed_ms / records.length / 1000 : 0
  const figures: readonly (readonly [string, string])[] = [
    ['Update', last ? `${records.length} / ${total}` : '–'],
    ['Loss', loss(last?.loss)],
    ['Validation loss', loss(session.evaluations.value.at(-1)?.eval_loss)],
    ['Tokens/s', last ? compact(last.tokens_per_second) : '–'],
    ['Epoch', last ? last.epoch.toFixed(2) : '–'],
    ['Time left', last ? duration((total - records.length) * perUpdate) : '–'],
  ]
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Samples({ session }: { readonly session: SessionView }) {
  const samples = session.samples.value
  if (samples.length === 0) return <p class="quiet">Every few updates the model writes a little text here.</p>
  return (
    <>
      {samples.toReversed().map(({ step, prompt, text }) => (
        <section key={step}>
          <p class="quiet">After update {step}</p>
          <pre class="sample" tabIndex={0}>
            <b>{prompt.trimStart()}</b>
            {text}
          </pre>
        </section>
      ))}
    </>
  )
}

function Events({ session }: { readonly session: SessionView }) {
  const events = session.events.value
  if (events.length === 0) return <p class="quiet">Nothing yet.</p>
  return (
    <ul class="events" tabIndex={0} aria-label="Events, newest first">
      {events.toReversed().map(({ at, level, text }, index) => (
        <li key={events.length - index} class={level}>
          <time>{new Date(at).toLocaleTimeString()}</time> {text}
        </li>
      ))}
    </ul>
  )
}
