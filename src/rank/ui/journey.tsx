import type { RankPhase } from '../rank-view.ts'

const STEPS = ['Check', 'Connect', 'Receive', 'Train', 'Done'] as const

/** Where each phase stands on the way; an end before the goal stands nowhere. */
const PLACE: Readonly<Record<RankPhase, number>> = {
  consent: -1,
  preflight: 0,
  connecting: 1,
  waiting: 2,
  receiving: 2,
  training: 3,
  paused: 3,
  finished: 4,
  left: -1,
  refused: -1,
  failed: -1,
}

/** The way of a joining tab. */
export function Journey({ phase }: { readonly phase: RankPhase }) {
  const place = PLACE[phase]
  if (place < 0) return null
  return (
    <ol class="journey" aria-label="Steps">
      {STEPS.map((step, index) => (
        <li key={step} class={index < place ? 'done' : ''} aria-current={index === place ? 'step' : undefined}>
          {step}
        </li>
      ))}
    </ol>
  )
}
