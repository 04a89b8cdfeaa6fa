import { Figures } from '../../ui/figures.tsx'
import { bytes, compact, loss, percent, whole } from '../../ui/format.ts'
import { PreflightList } from '../../ui/preflight-list.tsx'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { RankPhase, RankView } from '../rank-view.ts'
import type { RankAppProps } from './app.tsx'
import { Journey } from './journey.tsx'

const ENDED: readonly RankPhase[] = ['left', 'refused', 'failed']
const WRONG: readonly RankPhase[] = ['refused', 'failed']

/** After the consent: one big line, how far the phase is, and what this tab has given. */
export function Working({ rank, preflight }: Omit<RankAppProps, 'suggestedName'>) {
  const phase = rank.phase.value
  const ended = ENDED.includes(phase)
  const broken = preflight?.some(({ ok }) => !ok) ?? false
  return (
    <section class={`card working ${WRONG.includes(phase) ? 'wrong' : ''}`}>
      <Journey phase={phase} />
      <div role="status">
        <h1>{rank.status.value}</h1>
      </div>
      <p class="detail">{rank.detail.value}</p>
      <Progress rank={rank} />
      <Contribution rank={rank} />
      {WRONG.includes(phase) && broken && <PreflightList items={preflight} />}
      <div class="buttons">
        {ended ? (
          // A new page: it may be a newer build, and it opens the device afresh.
          <button type="button" onClick={() => location.reload()}>
            {phase === 'left' ? 'Join again' : 'Try again'}
          </button>
        ) : (
          <button type="button" class="quiet-button" onClick={() => rank.leave()}>
            Leave the room
          </button>
        )}
      </div>
      {!ended && phase !== 'finished' && <Awake held={rank.wakeLock.value} />}
    </section>
  )
}

function Progress({ rank }: { readonly rank: RankView }) {
  const progress = useThrottled(rank.progress)
  if (!progress) return null
  const { label, done, total, unit } = progress
  const known = total > 0
  return (
    <div class="phase-progress">
      <label for="phase-progress">{label}</label>
      <progress id="phase-progress" {...(known ? { value: done, max: total } : {})} />
      <span>{known ? `${unit === 'bytes' ? `${bytes(done)} of ${bytes(total)}` : `${whole(done)} of ${whole(total)}`} · ${percent(done / total)}` : ''}</span>
    </div>
  )
}

function Contribution({ rank }: { readonly rank: RankView }) {
  const { updates, tokens, tokensPerSecond, share, loss: current } = useThrottled(rank.contribution)
  if (updates === 0) return null
  return (
    <div class="contribution">
      <h2>Your contribution{rank.name.value ? `, ${rank.name.value}` : ''}</h2>
      <Figures
        figures={[
          { name: 'Updates', value: whole(updates), note: 'steps of the model' },
          { name: 'Tokens computed', value: compact(tokens), note: 'read and learned from' },
          { name: 'Speed', value: compact(tokensPerSecond), note: 'tokens per second' },
          { name: 'Share', value: percent(share), note: 'of the last update' },
          { name: 'Loss', value: loss(current), note: 'lower is better' },
        ]}
      />
    </div>
  )
}

function Awake({ held }: { readonly held: boolean }) {
  return (
    <p class={`awake quiet ${held ? 'held' : ''}`}>
      {held ? 'The screen stays on while this tab is in front.' : 'The screen may turn off by itself: if the device falls asleep, this tab drops out of the ring.'}
    </p>
  )
}
