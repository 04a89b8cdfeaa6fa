import { compact, percent } from '../../ui/format.ts'
import type { RankRow } from '../session-view.ts'

export function RankTable({ ranks }: { readonly ranks: readonly RankRow[] }) {
  if (ranks.length === 0) return <p class="quiet">Nobody is here yet. Share the invitation, or let this tab compute.</p>
  return (
    <table class="ranks">
      <thead>
        <tr>
          <th scope="col">Rank</th>
          <th scope="col">Runs on</th>
          <th scope="col">State</th>
          <th scope="col">Micro-batches</th>
          <th scope="col">Tokens/s</th>
          <th scope="col">Time: computing, waiting, stepping</th>
        </tr>
      </thead>
      <tbody>
        {ranks.map((rank) => (
          <Row key={rank.peer} rank={rank} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ rank }: { readonly rank: RankRow }) {
  const { shares } = rank
  return (
    <tr>
      <th scope="row">
        {rank.name}
        {rank.own && <span class="quiet"> (this tab)</span>}
      </th>
      <td data-label="Runs on">
        {rank.browser || '…'} <span class="quiet">{rank.adapter}</span>
      </td>
      <td data-label="State">
        {rank.state}
        {rank.progress !== null && ` ${percent(rank.progress)}`}
        {rank.hidden && <span class="quiet"> · tab hidden</span>}
        {rank.note && <span class="quiet"> · {rank.note}</span>}
      </td>
      <td data-label="Micro-batches">{rank.microBatches}</td>
      <td data-label="Tokens/s">{rank.tokensPerSecond > 0 ? compact(rank.tokensPerSecond) : '–'}</td>
      <td data-label="Time">
        {shares ? (
          <span class="shares" role="img" aria-label={`computing ${percent(shares.computing)}, waiting ${percent(shares.waiting)}, stepping ${percent(shares.stepping)}`}>
            <span style={{ width: `${shares.computing * 100}%` }} />
            <span style={{ width: `${shares.waiting * 100}%` }} />
            <span style={{ width: `${shares.stepping * 100}%` }} />
          </span>
        ) : (
          '–'
        )}
      </td>
    </tr>
  )
}
