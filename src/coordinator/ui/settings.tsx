import { familyWords } from '../../checkpoint/family-words.ts'
import type { SessionView } from '../session-view.ts'
import { compact, whole } from '../../ui/format.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import { globalBatchSize } from '../../data/sample-order.ts'
import { OptionForm } from './option-form.tsx'
import { PresetChoice } from './preset-choice.tsx'
import { isReady } from './rank-words.ts'
import { SourceForm } from './source-form.tsx'

interface SettingsProps {
  readonly session: SessionView
  /** While a run goes on nothing can be changed. */
  readonly locked: boolean
  /** Once a run has begun the choices matter less than what it does. */
  readonly folded: boolean
}

/** Step 1: text, model and options. */
export function Settings({ session, locked, folded }: SettingsProps) {
  const form = (
    <>
      <SourceForm session={session} locked={locked} />
      <fieldset disabled={locked} class="plain">
        <legend class="unseen">Model and options</legend>
        <PresetChoice session={session} />
        <OptionForm session={session} />
      </fieldset>
    </>
  )
  return (
    <section class="card" aria-labelledby="settings-title">
      <h2 id="settings-title">{!folded && <span class="step">1</span>} What to train</h2>
      <Size session={session} />
      {folded ? (
        <details class="fold">
          <summary>{locked ? 'Text and options of this run' : 'Text and options of the next run'}</summary>
          {form}
        </details>
      ) : (
        form
      )}
    </section>
  )
}

function Size({ session }: { readonly session: SessionView }) {
  const options = session.options.value
  const { value: parameters } = session.parameters
  const { value: vocabSize } = session.vocabSize
  const ready = useThrottled(session.ranks).filter(isReady).length
  const family = familyWords(options.model_type)
  const samples = globalBatchSize(options, Math.max(1, ready))
  return (
    <p class="size">
      {parameters === null || vocabSize === null ? (
        `${family} model; its size is counted when the data is read. `
      ) : (
        <>
          {family} model with <strong>{compact(parameters)} parameters</strong> and a vocabulary of {whole(vocabSize)} tokens.{' '}
        </>
      )}
      {session.source.value?.unit === 'rows'
        ? `Each update reads ${whole(samples)} rows of at most ${whole(options.block_size)} tokens`
        : `Each update reads ${whole(samples)} pieces of ${whole(options.block_size)} tokens: ${compact(samples * options.block_size)} tokens`}
      {ready > 1 ? ` on ${ready} tabs` : ''}.
    </p>
  )
}
