import { useComputed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { Figures } from '../../ui/figures.tsx'
import { compact, duration, loss, percent, whole } from '../../ui/format.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { RankRow, SessionPhase, SessionView } from '../session-view.ts'
import { guesses, secondsLeft } from './pace.ts'
import { isHere, isReady } from './rank-words.ts'

const WORDS: Readonly<Record<SessionPhase, string>> = {
  setup: 'Getting ready',
  preparing: 'Preparing',
  training: 'Training',
  paused: 'Paused',
  stopping: 'Stopping',
  finished: 'Finished',
  failed: 'Stopped by an error',
}

/** The state in words, how far the run is, and its last numbers. */
export function RunStatus({ session }: { readonly session: SessionView }) {
  const phase = session.phase.value
  const status = session.status.value
  const started = useComputed(() => session.records.value.length > 0).value
  return (
    <section class={`hero ${phase}`} aria-label="State">
      <h1>{started ? WORDS[phase] : 'Train a language model in browser tabs'}</h1>
      {!started && (
        <p class="lead">
          Each tab reads different pieces of the text and works out how the model should change. Around the ring the tabs add up their changes, then all take the same step, and the
          model predicts the next letter a little better.
        </p>
      )}
      <p class={started && status === WORDS[phase] ? 'unseen' : 'status'} role="status">
        {status}
      </p>
      <StartHint session={session} />
      {started && <Numbers session={session} />}
    </section>
  )
}

function StartHint({ session }: { readonly session: SessionView }) {
  const phase = session.phase.value
  const waiting = phase === 'setup' && !session.canStart.value
  return (
    <p id="start-hint" class="quiet" hidden={!waiting}>
      {waiting ? hint(session.source.value !== null, session.ranks.value, session.computeHere.value) : ''}
    </p>
  )
}

function hint(hasText: boolean, ranks: readonly RankRow[], computeHere: boolean): string {
  if (!hasText) return 'Start waits for the text.'
  if (ranks.some(isReady)) return ''
  if (ranks.some(isHere) || computeHere) return 'Start waits until a tab has tested its device: a few seconds.'
  return 'Start waits for a tab that computes: invite one, or let this tab compute too.'
}

function Numbers({ session }: { readonly session: SessionView }) {
  const records = useThrottled(session.records)
  const evaluations = useThrottled(session.evaluations)
  const total = session.maxSteps.value
  const last = records.at(-1)
  if (!last) return null
  const done = total > 0 ? Math.min(1, records.length / total) : 0
  const validation = evaluations.at(-1)
  const elapsed = duration(last.elapsed_ms / 1000)
  const time =
    session.phase.value === 'training'
      ? { name: 'Time left', value: duration(secondsLeft(records, total)), note: `${elapsed} so far` }
      : { name: 'Time', value: elapsed, note: 'since the start' }
  return (
    <>
      <div class="progress-line">
        <progress aria-label="Updates done" value={records.length} max={Math.max(1, total)} />
        <span>
          <strong>{percent(done)}</strong> · update {whole(records.length)} of {whole(total)}
        </span>
      </div>
      <Figures
        figures={[
          { name: 'Loss', value: loss(last.loss), note: guessNote(last.loss) },
          { name: 'Validation loss', value: loss(validation?.eval_loss), note: validation ? `after update ${whole(validation.step)}` : 'not measured yet' },
          { name: 'Speed', value: compact(last.tokens_per_second), note: 'tokens per second' },
          time,
          { name: 'Epoch', value: last.epoch.toFixed(2), note: 'passes over the text' },
        ]}
      />
      <Milestones done={done} current={last.loss} />
    </>
  )
}

function guessNote(value: number): string {
  return Number.isFinite(value) ? `like guessing 1 in ${guesses(value)}` : 'not a number'
}

/** Speaks every tenth of the run to those who do not see the bar. */
function Milestones({ done, current }: { readonly done: number; readonly current: number }) {
  const tenth = Math.floor(done * 10) * 10
  const sentence = useMemo(() => (tenth > 0 ? `${tenth} percent done, loss ${loss(current)}` : ''), [tenth])
  return (
    <p class="unseen" aria-live="polite">
      {sentence}
    </p>
  )
}
