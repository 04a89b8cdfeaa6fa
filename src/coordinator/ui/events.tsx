import type { SessionView } from '../session-view.ts'

const LEVELS = { info: '', warning: 'Warning: ', error: 'Error: ' } as const

/** Joins, leaves, rings, skipped updates: newest first. */
export function Events({ session }: { readonly session: SessionView }) {
  const events = session.events.value
  return (
    <section class="card" aria-labelledby="events-title">
      <h2 id="events-title">What happened</h2>
      {events.length === 0 ? (
        <p class="quiet">Nothing yet. Tabs that come and go, and whatever goes wrong, are listed here.</p>
      ) : (
        <ul class="events" tabIndex={0} aria-label="Events, newest first">
          {events.toReversed().map(({ at, level, text }, index) => (
            <li key={events.length - index} class={level}>
              <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>
              <span>
                {LEVELS[level]}
                {text}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
