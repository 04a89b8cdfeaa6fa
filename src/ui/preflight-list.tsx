import type { PreflightItem } from './preflight.ts'

/** The checks: one line when all is well, else what is missing and what to do. */
export function PreflightList({ items }: { readonly items: readonly PreflightItem[] | null }) {
  if (!items) return <p class="preflight quiet">Checking this browser …</p>
  const broken = items.filter(({ ok }) => !ok).length
  return (
    <details class={`preflight ${broken > 0 ? 'broken' : ''}`} open={broken > 0}>
      <summary>
        <Mark ok={broken === 0} /> {broken === 0 ? 'This browser has all it takes' : 'Something is missing in this browser'}
      </summary>
      <ul>
        {items.map(({ id, ok, sentence, fix }) => (
          <li key={id}>
            <Mark ok={ok} />
            <span>
              <span>{sentence}</span> {fix && <strong>{fix}</strong>}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function Mark({ ok }: { readonly ok: boolean }) {
  return (
    <svg class={`mark ${ok ? 'good' : 'bad'}`} viewBox="0 0 16 16" role="img" aria-label={ok ? 'In order:' : 'Missing:'}>
      <path d={ok ? 'M3 8.5l3.5 3.5L13 4.5' : 'M4 4l8 8M12 4l-8 8'} fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  )
}
