import { useEffect } from 'preact/hooks'
import { Logo } from '../../ui/logo.tsx'
import type { PreflightItem } from '../../ui/preflight.ts'
import type { RankView } from '../rank-view.ts'
import { Consent } from './consent.tsx'
import './rank.css'
import { rankTitle } from './rank-title.ts'
import { Working } from './working.tsx'

export interface RankAppProps {
  readonly rank: RankView
  readonly preflight: readonly PreflightItem[] | null
  readonly suggestedName: string
}

/** The joining page: first a question, then what this tab does. */
export function RankApp({ rank, preflight, suggestedName }: RankAppProps) {
  const phase = rank.phase.value
  const title = rankTitle(phase, rank.contribution.value.updates)
  useEffect(() => {
    document.title = title
  }, [title])
  return (
    <div class="join">
      <header class="bar">
        <p class="brand">
          <Logo /> Tabring
        </p>
        <p class="room">
          Room <strong>{rank.room}</strong>
        </p>
      </header>
      <main>{phase === 'consent' ? <Consent rank={rank} preflight={preflight} suggestedName={suggestedName} /> : <Working rank={rank} preflight={preflight} />}</main>
    </div>
  )
}
