import type { RankRow, RankState } from '../session-view.ts'

/** What a person reads in the table. */
export const STATE_WORDS: Readonly<Record<RankState, string>> = {
  connecting: 'connecting',
  checking: 'testing its device',
  ready: 'ready',
  'receiving data': 'receiving the text',
  linking: 'linking up',
  training: 'training',
  waiting: 'waiting for the others',
  paused: 'paused',
  left: 'left',
  refused: 'not let in',
  failed: 'failed',
}

const GONE: readonly RankState[] = ['left', 'refused', 'failed']
const ARRIVING: readonly RankState[] = ['connecting', 'checking']

export function isHere({ state }: RankRow): boolean {
  return !GONE.includes(state)
}

/** Could take part in an update now. */
export function isReady(rank: RankRow): boolean {
  return isHere(rank) && !ARRIVING.includes(rank.state)
}

/** This page's own rank first, the others as they came, those that are gone last. */
export function inTableOrder(ranks: readonly RankRow[]): RankRow[] {
  const place = (rank: RankRow): number => (isHere(rank) ? (rank.own ? 0 : 1) : 2)
  return ranks.toSorted((a, b) => place(a) - place(b))
}
