import { Timer } from '../base/timer.ts'
import type { FromRank, Member } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { CheckpointRequests } from './checkpoint-requests.ts'
import { type Asked, Interludes } from './interludes.ts'
import { type FinishedUpdate, OutstandingUpdates } from './outstanding-updates.ts'
import { planUpdate } from './planner.ts'
import type { RunEntry as Entry, RunListener, RunRank, RunSettings } from './run-ports.ts'

/** Updates that may be planned ahead of the reports: hides the control latency, and bounds what a pause waits for. */
const LOOKAHEAD = 2
/** A rank that has not linked up by then is left out of the next generation. */
const FORM_DEADLINE_MS = 20_000
/** Ranks that leave together are answered by one new generation. */
const SETTLE_MS = 150
/** Generations in a row without one finished update before the run is given up. */
const MAX_FRUITLESS = 6

/**
 * The coordinator's state machine of one run: forms generations of ranks, plans updates, follows their reports and
 * re-plans an update that a generation did not finish (M1, M3, M5). Knows neither page nor network.
 */
export class Run {
  readonly #settings: RunSettings
  readonly #listener: RunListener
  readonly #entries = new Map<string, Entry>()
  readonly #outstanding = new OutstandingUpdates()
  readonly #interludes: Interludes
  readonly #checkpoints: CheckpointRequests
  #members: Member[] = []
  #generation = 0
  #stage: 'idle' | 'forming' | 'syncing' | 'running' | 'over' = 'idle'
  #next = 0
  #paused = false
  #stopping = false
  #reformWanted: string | null = null
  #fruitless = 0
  readonly #timer = new Timer()
  #minimumRanks = 1

  constructor(settings: RunSettings, listener: RunListener) {
    this.#settings = settings
    this.#listener = listener
    this.#interludes = new Interludes(settings, listener)
    this.#checkpoints = new CheckpointRequests(settings, listener)
  }

  get members(): readonly Member[] {
    return this.#members
  }

  expect(ranks: number): void {
    this.#minimumRanks = ranks
  }

  add(rank: RunRank): void {
    this.#entries.set(rank.peer, { rank, prepared: false, formed: null })
    const { id, options, config, corpus, initial } = this.#settings
    rank.send({ type: 'prepare', run: id, options, config, corpus, initial })
    rank.sendCorpus().catch((cause: unknown) => this.remove(rank.peer, `data could not be sent: ${String(cause)}`))
  }

  remove(peer: string, cause: string): void {
    const entry = this.#entries.get(peer)
    if (!entry) return
    this.#entries.delete(peer)
    this.#minimumRanks = Math.max(1, Math.min(this.#minimumRanks, this.#entries.size))
    if (this.#stage === 'over') return
    if (this.#members.some((member) => member.peer === peer)) {
      this.#listener.event('warning', `${entry.rank.name} left (${cause}); its work goes to the others`)
      this.#scheduleReform(`${entry.rank.name} left`)
    } else if (this.#stage === 'idle') this.#formWhenReady()
  }

  pause(): void {
    this.#paused = true
    for (const { rank } of this.#entries.values()) rank.send({ type: 'pause' })
  }

  resume(): void {
    this.#paused = false
    this.#pump()
  }

  /** The state after so many windows is dealt with, or was lost with its rank before all of it had come. */
  checkpointEnded(window: number, how: 'done' | 'lost'): void {
    this.#checkpoints.ended(window, how)
    this.#pump()
  }

  /** Finishes what is planned, then ends the run. */
  stop(): void {
    this.#stopping = true
    this.#paused = false
    if (this.#stage === 'idle') this.#over()
    else this.#pump()
  }

  receive(peer: string, message: FromRank): void {
    const entry = this.#entries.get(peer)
    if (!entry || this.#stage === 'over') return
    switch (message.type) {
      case 'prepared':
        if (message.run !== this.#settings.id) return
        entry.prepared = true
        return this.#joinReady(entry)
      case 'formed':
      case 'synced':
        if (message.generation === this.#generation) this.#hear(entry, message)
        return
      case 'report':
        // Reports of a broken generation still tell what it committed; they arrive before the rank's `formed`.
        if (message.report.generation === this.#generation || this.#stage !== 'running') this.#report(peer, message.report)
        return
      case 'evaluated':
        this.#interludes.evaluated(message.id, peer, message.lossSum, message.items)
        return this.#pump()
      case 'generated':
        this.#interludes.generated(message.id, message.ids)
        return this.#checkOver()
      case 'checkpointed':
        if (this.#checkpoints.answered(peer, message.id, message.taken)) this.#listener.checkpointed(peer, message.id, message.committed)
        return this.#pump()
      case 'failed':
        return this.#failed(entry, message)
      case 'leaving':
        return this.remove(peer, 'closed its tab')
      case 'exported':
      case 'hello':
      case 'progress':
      case 'visibility':
        return
      default:
        message satisfies never
    }
  }

  #joinReady(entry: Entry): void {
    if (this.#stage === 'idle') this.#formWhenReady()
    else {
      this.#reformWanted = `${entry.rank.name} joined`
      this.#pump()
    }
  }

  #formWhenReady(): void {
    const prepared = [...this.#entries.values()].filter((entry) => entry.prepared).length
    if (prepared >= Math.max(1, this.#minimumRanks)) this.#form('start')
  }

  #scheduleReform(reason: string): void {
    if (this.#stage === 'over') return
    for (const entry of this.#entries.values()) entry.rank.send({ type: 'abort', generation: this.#generation, cause: reason })
    this.#generation++
    this.#timer.set(SETTLE_MS, () => this.#form(reason))
  }

  /** M1: a new generation of every prepared rank. */
  #form(reason: string): void {
    this.#reformWanted = null
    if (this.#stage === 'running' || this.#stage === 'syncing' || this.#stage === 'forming') this.#generation++
    const ready = [...this.#entries.values()].filter((entry) => entry.prepared)
    this.#members = ready.map(({ rank }) => ({ peer: rank.peer, name: rank.name }))
    this.#listener.generation(this.#members, reason)
    if (ready.length === 0) {
      this.#stage = 'idle'
      this.#minimumRanks = 1
      this.#listener.event('warning', 'No rank is left; training waits for one to join')
      return
    }
    this.#stage = 'forming'
    for (const entry of ready) {
      entry.formed = null
      entry.rank.send({ type: 'form', generation: this.#generation, members: this.#members })
    }
    this.#timer.set(FORM_DEADLINE_MS, () => this.#dropUnformed())
  }

  #dropUnformed(): void {
    const late = this.#memberEntries().filter((entry) => entry.formed === null)
    for (const { rank } of late) {
      this.#listener.event('error', `${rank.name} could not link to its neighbours within ${FORM_DEADLINE_MS / 1000} s and was left out`)
      rank.send({
        type: 'refused',
        reason: `No direct connection to the neighbouring ranks came up within ${FORM_DEADLINE_MS / 1000} s. A firewall or a guest network may block it.`,
      })
      this.#entries.delete(rank.peer)
    }
    this.#form('some ranks did not connect')
  }

  #hear(entry: Entry, message: { readonly update: number; readonly stateHash: string }): void {
    entry.formed = { update: message.update, hash: message.stateHash }
    const states = this.#memberEntries().map(({ formed }) => formed)
    if (states.some((state) => state === null)) return
    const first = states[0]
    if (first && states.every((state) => state?.update === first.update && state.hash === first.hash)) return this.#begin(first.update)
    if (this.#stage === 'syncing') return this.#fail('Ranks still differ after the broadcast of the state; a device or a link corrupts data')
    this.#stage = 'syncing'
    const updates = states.map((state) => state?.update ?? -1)
    const source = updates.indexOf(Math.max(...updates))
    for (const member of this.#memberEntries()) {
      member.formed = null
      member.rank.send({ type: 'sync', generation: this.#generation, source })
    }
    this.#timer.set(FORM_DEADLINE_MS, () => this.#dropUnformed())
  }

  #begin(update: number): void {
    this.#timer.clear()
    this.#stage = 'running'
    this.#next = update
    for (const finished of this.#outstanding.settle(update)) this.#finished(finished)
    this.#listener.rewound(update)
    this.#interludes.begin(update, this.#asked())
    this.#checkpoints.restart(update, this.#asked())
    this.#pump()
    this.#checkOver()
  }

  #pump(): void {
    if (this.#stage !== 'running') return
    if (this.#reformWanted !== null) {
      if (this.#outstanding.size === 0) this.#form(this.#reformWanted)
      return
    }
    const { totalUpdates } = this.#settings
    while (!this.#paused && !this.#stopping && this.#next < totalUpdates && this.#outstanding.size < LOOKAHEAD && this.#interludes.allow && this.#checkpoints.allow(this.#next + 1))
      this.#plan()
    this.#checkOver()
  }

  #plan(): void {
    const update = this.#next++
    const plan = planUpdate(this.#settings.planner, this.#generation, update, this.#members.length)
    this.#outstanding.open(plan)
    for (const entry of this.#memberEntries()) entry.rank.send({ type: 'plan', plan })
    this.#interludes.after(update + 1, this.#asked())
    this.#checkpoints.after(update + 1, this.#asked())
  }

  #asked(): Asked {
    return { generation: this.#generation, members: this.#members, ranks: this.#memberEntries().map(({ rank }) => rank) }
  }

  #report(peer: string, report: UpdateReport): void {
    const rank = this.#members.findIndex((member) => member.peer === peer)
    const member = this.#members[rank]
    const microBatches = this.#outstanding.microBatches(report.update, rank)
    if (!member || microBatches === null) return
    this.#listener.rankReport(peer, report, microBatches)
    try {
      const finished = this.#outstanding.hear(member, report, this.#members)
      if (!finished) return
      this.#fruitless = 0
      this.#finished(finished)
    } catch (cause) {
      return this.#fail(cause instanceof Error ? cause.message : String(cause))
    }
    this.#pump()
  }

  #finished(finished: FinishedUpdate): void {
    this.#checkpoints.finished(finished.report)
    this.#listener.finished(finished.report, finished)
  }

  #failed(entry: Entry, message: Extract<FromRank, { type: 'failed' }>): void {
    const where = message.update === null ? '' : ` in update ${message.update + 1}`
    if (message.fatal) return this.#fail(`${entry.rank.name} failed${where}: ${message.cause}`)
    if (message.generation !== this.#generation) return
    this.#listener.event('warning', `${entry.rank.name} reports${where}: ${message.cause}`)
    if (++this.#fruitless > MAX_FRUITLESS) return this.#fail(`${MAX_FRUITLESS} tries in a row failed; the last: ${message.cause}`)
    this.#scheduleReform(message.cause)
  }

  #checkOver(): void {
    const allDone = this.#stopping || this.#next >= this.#settings.totalUpdates
    if (this.#stage !== 'running' || !allDone || this.#outstanding.size > 0 || !this.#interludes.settled) return
    if (!this.#checkpoints.atEnd(this.#next, this.#asked())) this.#over()
  }

  #over(): void {
    this.#timer.clear()
    this.#stage = 'over'
    for (const entry of this.#entries.values()) entry.rank.send({ type: 'finish', summary: this.#stopping ? 'Training was stopped.' : 'Training is finished.' })
    this.#listener.done()
  }

  #fail(cause: string): void {
    this.#timer.clear()
    for (const entry of this.#entries.values()) entry.rank.send({ type: 'abort', generation: this.#generation, cause })
    this.#stage = 'over'
    this.#listener.failed(cause)
  }

  #memberEntries(): Entry[] {
    return this.#members.flatMap((member) => this.#entries.get(member.peer) ?? [])
  }
}
