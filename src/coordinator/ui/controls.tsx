import { useComputed } from '@preact/signals'
import { useRef, useState } from 'preact/hooks'
import type { SessionPhase, SessionView } from '../session-view.ts'
import { saveModel } from './save-model.ts'

const STOPPABLE: readonly SessionPhase[] = ['preparing', 'training', 'paused']

interface ControlsProps {
  readonly session: SessionView
  /** There is a trained model that nobody has saved. */
  readonly unsaved: boolean
  /** Hears how many updates the saved model has. */
  onSaved(updates: number): void
}

/** Start, Pause or Resume, Stop, Save: always in reach. */
export function Controls({ session, unsaved, onSaved }: ControlsProps) {
  const phase = session.phase.value
  const trained = useComputed(() => session.records.value.length > 0).value
  const ask = useRef<HTMLDialogElement>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const attempt = async (action: () => Promise<void>): Promise<void> => {
    setError('')
    try {
      await action()
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    }
  }
  const save = async (): Promise<void> => {
    setBusy(true)
    await attempt(async () => {
      const updates = session.records.peek().length
      await saveModel(session, { merged: true })
      onSaved(updates)
    })
    setBusy(false)
  }
  const start = (): void => {
    if (unsaved) ask.current?.showModal()
    else void attempt(() => session.start())
  }
  const finished = phase === 'finished'
  return (
    <div class="controls">
      <button type="button" class={finished ? 'quiet-button' : ''} disabled={!session.canStart.value} aria-describedby="start-hint" onClick={start}>
        {finished ? 'Start again' : 'Start'}
      </button>
      {phase === 'paused' ? (
        <button type="button" onClick={() => session.resume()}>
          Resume
        </button>
      ) : (
        <button type="button" class="quiet-button" disabled={phase !== 'training'} onClick={() => session.pause()}>
          Pause
        </button>
      )}
      <button type="button" class="quiet-button" disabled={!STOPPABLE.includes(phase)} onClick={() => session.stop()}>
        Stop
      </button>
      <button type="button" class={finished ? '' : 'quiet-button'} disabled={!trained || busy} aria-busy={busy} onClick={() => void save()}>
        {busy ? 'Packing …' : 'Save model'}
      </button>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <dialog ref={ask} aria-labelledby="again-title">
        <article>
          <h2 id="again-title">{session.resumesFrom.value ? `Go on from ${session.resumesFrom.value.name}?` : 'Start from nothing?'}</h2>
          <p>The trained model has not been saved. A new run replaces it.</p>
          <form method="dialog" class="buttons">
            <button type="submit">Keep it</button>
            <button type="submit" class="quiet-button" onClick={() => void attempt(() => session.start())}>
              Replace it
            </button>
          </form>
        </article>
      </dialog>
    </div>
  )
}
