import type { PreflightItem } from './preflight.ts'

/** The checks: one line when all is well, else what is missing and what to do. */
export function PreflightList({ items }: { readonly items: readonly PreflightItem[] | null }) {
  if (!items) return <p class="quiet">Checking this browser …</p>
  const broken = items.filter(({ ok }) => !ok)
  return (
    <details class="preflight" open={broken.length > 0}>
      <summary>{broken.length === 0 ? 'This browser has all it takes' : 'Something is missing in this browser'}</summary>
      <ul>
        {items.map(({ id, ok, sentence, fix }) => (
          <li key={id} class={ok ? 'good' : 'bad'}>
            <span aria-hidden="true">{ok ? '✓' : '✕'}</span> {sentence} {fix && <strong>{fix}</strong>}
          </li>
        ))}
      </ul>
    </details>
  )
}
