import type { RankRow } from '../session-view.ts'
import { inTableOrder, isHere, isReady } from './rank-words.ts'

/** Of the circle, in units of the picture, which is 200 wide. */
const RADIUS = 74
/** More tabs than these have no room for a letter, or for more than a dot. */
const LETTERS = 14
const DISCS = 30

/** Who stands next to whom; the circle moves while numbers travel along it. */
export function RingPicture({ ranks, running }: { readonly ranks: readonly RankRow[]; readonly running: boolean }) {
  const here = inTableOrder(ranks).filter(isHere)
  const ready = here.filter(isReady).length
  const names = here.map(({ name }) => name)
  const label = here.length === 0 ? 'An empty ring' : `A ring of ${here.length}: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ' and others' : ''}`
  return (
    <svg class={`ring ${running ? 'running' : ''}`} viewBox="0 0 200 200" role="img" aria-label={label}>
      <circle class="track" cx="100" cy="100" r={RADIUS} />
      {here.length > 1 && <circle class="flow" cx="100" cy="100" r={RADIUS} pathLength={120} />}
      <g aria-hidden="true">
        {here.map((rank, index) => (
          <Place key={rank.peer} rank={rank} angle={(index / here.length) * 2 * Math.PI} size={discRadius(here.length)} />
        ))}
        <text class="count" x="100" y="104">
          {ready}
        </text>
        <text class="unit" x="100" y="126">
          {ready === 1 ? 'tab' : 'tabs'}
        </text>
      </g>
    </svg>
  )
}

function discRadius(count: number): number {
  if (count > DISCS) return 4
  return count > LETTERS ? 8 : 15
}

function Place({ rank, angle, size }: { readonly rank: RankRow; readonly angle: number; readonly size: number }) {
  const x = 100 + RADIUS * Math.sin(angle)
  const y = 100 - RADIUS * Math.cos(angle)
  return (
    <g class={`place ${isReady(rank) ? 'ready' : 'arriving'} ${rank.own ? 'own' : ''}`} transform={`translate(${x.toFixed(2)} ${y.toFixed(2)})`}>
      <circle r={size} />
      {size > 8 && <text y="5.5">{[...rank.name.trim()][0]?.toUpperCase() ?? '?'}</text>}
    </g>
  )
}
