import { useState } from 'preact/hooks'
import { bytes, compact, loss, percent } from '../../ui/format.ts'
import { Logo } from '../../ui/logo.tsx'
import type { PreflightItem } from '../../ui/preflight.ts'
import { PreflightList } from '../../ui/preflight-list.tsx'
import type { RankPhase, RankView } from '../rank-view.ts'

const ENDED: readonly RankPhase[] = ['left', 'refused', 'failed']

export interface RankAppProps {
  readonly rank: RankView
  readonly preflight: readonly PreflightItem[] | null
  readonly suggestedName: string
}

export function RankApp({ rank, preflight, suggestedName }: RankAppProps) {
  const phase = rank.phase.value
  return (
    <div class="join stack">
      <header class="top">
        <Logo />
        <h1>Tabring</h1>
        <p class="status quiet">Room {rank.room}</p>
      </header>
      <main class="stack">{phase === 'consent' ? <Consent rank={rank} preflight={preflight} suggestedName={suggestedName} /> : <Working rank={rank} preflight={preflight} />}</main>
    </div>
  )
}

function Consent({ rank, preflight, suggestedName }: RankAppProps) {
  const [name, setName] = useState(suggestedName)
  const blocked = preflight?.some(({ ok }) => !ok) ?? true
  return (
    <article>
      <h2>Lend this tab to train a language model?</h2>
      <ul>
        <li>It computes on this device’s graphics card or processor, and uses its battery, until you leave.</li>
        <li>It exchanges numbers directly with the other tabs in the room; they can see this device’s network address.</li>
        <li>It gets the training text. It reads nothing else on this device and stores nothing.</li>
      </ul>
      <PreflightList items={preflight} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void rank.join(name)
        }}
      >
        <label>
          Your name in the room
          <input type="text" value={name} maxLength={40} onInput={({ currentTarget }) => setName(currentTarget.value)} autoComplete="nickname" />
        </label>
        <button type="submit" disabled={blocked}>
          Join
        </button>
      </form>
    </article>
  )
}

function Working({ rank, preflight }: Omit<RankAppProps, 'suggestedName'>) {
  const phase = rank.phase.value
  const ended = ENDED.includes(phase)
  return (
    <article>
      <p class={`big ${phase === 'failed' || phase === 'refused' ? 'error' : ''}`} role="status">
        {rank.status.value}
      </p>
      <p>{rank.detail.value}</p>
      <Progress rank={rank} />
      {rank.contribution.value.updates > 0 && <Contribution rank={rank} />}
      {phase === 'failed' && <PreflightList items={preflight} />}
      <div class="buttons">
        {ended ? (
          <button type="button" onClick={() => location.reload()}>
            Join again
          </button>
        ) : (
          <button type="button" class="secondary" onClick={() => rank.leave()}>
            Leave
          </button>
        )}
      </div>
      {!ended && (
        <p class="quiet">{rank.wakeLock.value ? 'The screen stays on while this tab is in front.' : 'The screen may turn off; training goes on as long as the device is awake.'}</p>
      )}
    </article>
  )
}

function Progress({ rank }: { readonly rank: RankView }) {
  const progress = rank.progress.value
  if (!progress) return null
  const { label, done, total, unit } = progress
  return (
    <label>
      {label} {unit === 'bytes' && `(${bytes(done)} of ${bytes(total)})`}
      <progress value={done} max={Math.max(1, total)} />
    </label>
  )
}

function Contribution({ rank }: { readonly rank: RankView }) {
  const { updates, tokens, tokensPerSecond, share, loss: current } = rank.contribution.value
  const figures: readonly (readonly [string, string])[] = [
    ['Updates', compact(updates)],
    ['Tokens computed', compact(tokens)],
    ['Tokens/s', compact(tokensPerSecond)],
    ['Your share', percent(share)],
    ['Loss', loss(current ?? undefined)],
  ]
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
