import type { ComponentChildren } from 'preact'
import { compact, percent } from '../../ui/format.ts'
import type { RankRow } from '../session-view.ts'
import { inTableOrder, isHere, STATE_WORDS } from './rank-words.ts'

/** Roles are written out: a phone shows rows as cards, and browsers then forget that this is a table. */
export function RankTable({ ranks }: { readonly ranks: readonly RankRow[] }) {
  if (ranks.length === 0) return <p class="quiet">No tab is here yet. Share the invitation, or let this tab compute too.</p>
  return (
    <div class="ranks-box">
      <table class="ranks" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {['Tab', 'Runs on', 'State', 'Micro-batches', 'Tokens/s', 'Its time'].map((title) => (
              <th key={title} scope="col" role="columnheader">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {inTableOrder(ranks).map((rank) => (
            <Row key={rank.peer} rank={rank} />
          ))}
        </tbody>
      </table>
      <p class="shares-key quiet" hidden={ranks.every(({ shares }) => shares === null)}>
        <span class="computing">computing</span> <span class="waiting">waiting for others</span> <span class="sending">sending</span>
      </p>
    </div>
  )
}

function Row({ rank }: { readonly rank: RankRow }) {
  const here = isHere(rank)
  return (
    <tr role="row" class={here ? '' : 'gone'}>
      <th scope="row" role="rowheader">
        {rank.name} {rank.own && <small class="badge">this tab</small>}
      </th>
      <td role="cell" data-label="Runs on">
        {rank.browser || '…'} <small>{rank.adapter}</small>
      </td>
      <td role="cell" data-label="State">
        <State rank={rank} />
      </td>
      <Cell label="Micro-batches">{rank.microBatches > 0 && here ? rank.microBatches : null}</Cell>
      <Cell label="Tokens/s">{rank.tokensPerSecond > 0 && here ? compact(rank.tokensPerSecond) : null}</Cell>
      <Cell label="Its time">{rank.shares && here ? <Shares shares={rank.shares} /> : null}</Cell>
    </tr>
  )
}

/** A number that may not be there yet; a card then leaves it out. */
function Cell({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <td role="cell" data-label={label} class={children === null ? 'nothing' : 'number'}>
      {children ?? '–'}
    </td>
  )
}

function State({ rank }: { readonly rank: RankRow }) {
  return (
    <>
      <span class={`state ${rank.state.replace(' ', '-')}`}>{STATE_WORDS[rank.state]}</span>
      {rank.progress !== null && (
        <span class="inline-progress">
          <progress value={rank.progress} max={1} aria-label={`${rank.name}: ${rank.note || STATE_WORDS[rank.state]}`} /> {percent(rank.progress)}
        </span>
      )}
      {(rank.note || rank.hidden) && <small>{[rank.note, rank.hidden ? 'its tab is in the background' : ''].filter(Boolean).join(' · ')}</small>}
    </>
  )
}

function Shares({ shares: { computing, waiting, sending } }: { readonly shares: NonNullable<RankRow['shares']> }) {
  return (
    <span class="shares" role="img" aria-label={`computing ${percent(computing)}, waiting ${percent(waiting)}, sending ${percent(sending)}`}>
      <span class="computing" style={{ flexGrow: computing }} />
      <span class="waiting" style={{ flexGrow: waiting }} />
      <span class="sending" style={{ flexGrow: sending }} />
    </span>
  )
}
