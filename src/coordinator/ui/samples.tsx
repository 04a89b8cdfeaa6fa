import { whole } from '../../ui/format.ts'
import type { SessionView } from '../session-view.ts'

/** What the model writes, newest first: the story of how it learns. */
export function Samples({ session }: { readonly session: SessionView }) {
  const samples = session.samples.value
  const none = session.options.value.sample_every === 0
  return (
    <section class="card" aria-labelledby="samples-title">
      <h2 id="samples-title">What it writes</h2>
      {samples.length === 0 ? (
        <p class="quiet">
          {none
            ? 'Texts are switched off: set “Write text every” above 0 before the next run.'
            : 'Every few updates the model writes a little text here. The first ones are gibberish.'}
        </p>
      ) : (
        <div class="samples" tabIndex={0} role="region" aria-label="Generated texts, newest first">
          {samples.toReversed().map(({ step, prompt, text }) => (
            <figure key={step}>
              <figcaption>after {whole(step)} updates</figcaption>
              <pre class="sample">
                {prompt.trim() !== '' && <b>{prompt.trimStart()}</b>}
                {prompt.trim() === '' ? text.trimStart() : text}
              </pre>
            </figure>
          ))}
        </div>
      )}
    </section>
  )
}
