import { type ReadonlySignal, signal } from '@preact/signals'
import type { FromRank } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import type { RankPort } from './room.ts'
import type { RankRow, RankState } from './session-view.ts'

/** Weight of the newest update in the smoothed speed and shares. */
const SMOOTHING = 0.3

export type Hello = Extract<FromRank, { type: 'hello' }>

export interface RosterEntry {
  readonly row: RankRow
  readonly port: RankPort | null
  readonly hello: Hello | null
}

/** The table of ranks, for the page; one row per peer that was ever seen in this room. */
export class Roster {
  readonly #rows = signal<readonly RankRow[]>([])
  readonly #entries = new Map<string, RosterEntry>()
  readonly #ownPeer: () => string | null

  constructor(ownPeer: () => string | null) {
    this.#ownPeer = ownPeer
  }

  get rows(): ReadonlySignal<readonly RankRow[]> {
    return this.#rows
  }

  get(peer: string): RosterEntry | undefined {
    return this.#entries.get(peer)
  }

  name(peer: string): string {
    return this.#entries.get(peer)?.row.name ?? peer
  }

  /** Ranks that said hello and were let in. */
  ready(): RosterEntry[] {
    return [...this.#entries.values()].filter(({ row, port, hello }) => port && hello && !['left', 'refused', 'failed', 'connecting', 'checking'].includes(row.state))
  }

  appear(peer: string, name: string): void {
    const row: RankRow = {
      peer,
      name,
      browser: '',
      adapter: '',
      state: 'connecting',
      note: '',
      progress: null,
      microBatches: 0,
      tokensPerSecond: 0,
      shares: null,
      hidden: false,
      own: peer === this.#ownPeer(),
    }
    this.#put({ row, port: null, hello: null })
  }

  connect(port: RankPort): void {
    this.#change(port.peer, { state: 'checking' }, { port })
  }

  welcome(peer: string, hello: Hello, name: string): void {
    const adapter = [hello.adapter.vendor, hello.adapter.architecture].filter(Boolean).join(' ') || hello.adapter.description || 'unknown'
    this.#change(peer, { name, browser: hello.browser, adapter, state: 'ready' }, { hello })
  }

  set(peer: string, change: Partial<RankRow>): void {
    this.#change(peer, change, {})
  }

  setAll(from: readonly RankState[], state: RankState): void {
    for (const { row } of this.#entries.values()) if (from.includes(row.state)) this.#change(row.peer, { state }, {})
  }

  report(peer: string, report: UpdateReport, microBatches: number): void {
    const before = this.#entries.get(peer)?.row
    if (!before) return
    const { totalMs, computeMs, sendMs, waitMs, stepMs } = report.times
    const total = Math.max(1e-3, computeMs + sendMs + waitMs + stepMs)
    const now = { computing: (computeMs + stepMs) / total, waiting: waitMs / total, sending: sendMs / total }
    const old = before.shares ?? now
    const mix = (a: number, b: number): number => a + SMOOTHING * (b - a)
    const shares = { computing: mix(old.computing, now.computing), waiting: mix(old.waiting, now.waiting), sending: mix(old.sending, now.sending) }
    const speed = (report.tokens * 1000) / Math.max(1, totalMs)
    this.#change(peer, { shares, microBatches, tokensPerSecond: before.tokensPerSecond > 0 ? mix(before.tokensPerSecond, speed) : speed }, {})
  }

  leave(peer: string, note: string): void {
    const state = this.#entries.get(peer)?.row.state
    if (state === 'refused' || state === 'failed') this.#change(peer, { progress: null, tokensPerSecond: 0 }, { port: null })
    else this.#change(peer, { state: 'left', note, progress: null, tokensPerSecond: 0, microBatches: 0 }, { port: null })
  }

  #change(peer: string, row: Partial<RankRow>, rest: Partial<RosterEntry>): void {
    const entry = this.#entries.get(peer)
    if (entry) this.#put({ ...entry, ...rest, row: { ...entry.row, ...row } })
  }

  #put(entry: RosterEntry): void {
    this.#entries.set(entry.row.peer, entry)
    this.#rows.value = [...this.#entries.values()].map(({ row }) => row)
  }
}
