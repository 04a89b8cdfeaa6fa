import type { RankPhase } from '../rank-view.ts'

/** The tab's title: what it does, and how often it has helped. */
export function rankTitle(phase: RankPhase, updates: number): string {
  if (phase === 'consent') return 'Join · Tabring'
  if (phase === 'training' && updates > 0) return `training · ${updates} updates · Tabring`
  return `${phase} · Tabring`
}
