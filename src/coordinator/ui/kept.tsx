import { useState } from 'preact/hooks'
import { bytes, compact, loss } from '../../ui/format.ts'
import type { KeptCheckpoint } from '../browser-checkpoints.ts'
import type { SessionView } from '../session-view.ts'
import { download } from './save-model.ts'

interface KeptProps {
  readonly session: SessionView
  /** While a run goes on another one cannot be chosen. */
  readonly locked: boolean
}

/** Checkpoints in this browser: go on from one, take it home, delete it. Nothing where there are none. */
export function Kept({ session, locked }: KeptProps) {
  const [problem, setProblem] = useState('')
  const list = session.kept.list.value
  const chosen = session.resumesFrom.value
  if (list.length === 0 && chosen === null) return null
  const attempt = (action: () => Promise<void>): void => {
    setProblem('')
    action().catch((cause: unknown) => setProblem(cause instanceof Error ? cause.message : String(cause)))
  }
  return (
    <section class="card" aria-labelledby="kept-title">
      <h2 id="kept-title">Checkpoints in this browser</h2>
      {chosen && (
        <p class="kept-chosen">
          The next run goes on from <strong>{chosen.name}</strong>.{' '}
          <button type="button" class="quiet-button" disabled={locked} onClick={() => session.startAnew()}>
            Start from random weights instead
          </button>
        </p>
      )}
      <ul class="kept">
        {list.map((checkpoint) => (
          <li key={checkpoint.at.join('/')} aria-current={checkpoint.at.join('/') === chosen?.at.join('/') ? 'true' : undefined}>
            <p>
              <strong>{checkpoint.name}</strong> <span class="quiet">{words(checkpoint)}</span>
            </p>
            <div class="buttons">
              <button type="button" disabled={locked} onClick={() => attempt(() => session.resumeFrom(checkpoint))}>
                Go on from here
              </button>
              <button type="button" class="quiet-button" onClick={() => attempt(async () => download(await session.kept.download(checkpoint)))}>
                Download
              </button>
              <button type="button" class="quiet-button" onClick={() => attempt(() => session.kept.remove(checkpoint))}>
                Delete
              </button>
            </div>
          </li>
        ))}
      </ul>
      {problem && (
        <p class="error" role="alert">
          {problem}
        </p>
      )}
    </section>
  )
}

function words(checkpoint: KeptCheckpoint): string {
  const { update, totalUpdates, source, outputDir, savedMs } = checkpoint
  const at = new Date(savedMs).toLocaleString('en', { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false })
  return `${update} of ${compact(totalUpdates)} updates of ${outputDir} on ${source.name} · loss ${loss(checkpoint.loss)} · ${bytes(checkpoint.bytes)} · ${at}`
}
