import { signal } from '@preact/signals'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { FromRank } from '../protocol/room-messages.ts'
import type { EvaluationRecord, StepRecord, TextSample } from '../protocol/step-record.ts'
import { TrainerLog } from '../protocol/trainer-log.ts'
import type { EventLog } from './event-log.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { RankPort } from './room.ts'
import type { Roster, RosterEntry } from './roster.ts'
import { RunHistory } from './run-history.ts'
import { Run } from './run.ts'
import type { RunListener, RunRank } from './run-ports.ts'
import type { SessionPhase, TextSource } from './session-view.ts'

/** A run as the page sees it: drives the state machine with the roster's ranks and keeps what it reports. */
export class ActiveRun {
  readonly prepared: PreparedRun
  readonly source: TextSource
  readonly records = signal<readonly StepRecord[]>([])
  readonly evaluations = signal<readonly EvaluationRecord[]>([])
  readonly samples = signal<readonly TextSample[]>([])
  onPhase: ((phase: SessionPhase, status: string) => void) | null = null
  finished = false
  readonly #roster: Roster
  readonly #events: EventLog
  readonly #report: (event: CliEvent) => void
  readonly #history: RunHistory
  readonly #log: TrainerLog
  readonly #run: Run

  constructor(prepared: PreparedRun, source: TextSource, roster: Roster, events: EventLog, report: (event: CliEvent) => void) {
    this.prepared = prepared
    this.source = source
    this.#roster = roster
    this.#events = events
    this.#report = report
    this.#history = new RunHistory(() => performance.now(), prepared.options.block_size / prepared.itemsPerSample)
    this.#log = new TrainerLog(prepared.options)
    this.#run = new Run(prepared.settings, this.#listener())
  }

  begin(ranks: readonly RosterEntry[]): void {
    this.#run.expect(ranks.length)
    for (const rank of ranks) this.join(rank)
  }

  join({ row, port }: RosterEntry): void {
    if (!port) return
    this.#roster.set(row.peer, { state: 'receiving data', note: '', progress: 0 })
    this.#run.add(this.#runRank(port, row.name))
  }

  leave(peer: string, cause: string): void {
    this.#run.remove(peer, cause)
  }

  receive(peer: string, message: FromRank): void {
    if (message.type === 'prepared') this.#roster.set(peer, { state: 'waiting', note: '', progress: null })
    if (message.type === 'formed') this.#roster.set(peer, { state: 'training', note: '' })
    if (message.type === 'failed' && message.fatal) this.#roster.set(peer, { state: 'failed', note: message.cause })
    this.#run.receive(peer, message)
  }

  pause(): void {
    this.#run.pause()
    this.#roster.setAll(['training'], 'paused')
  }

  resume(): void {
    this.#roster.setAll(['paused'], 'training')
    this.#run.resume()
  }

  stop(): void {
    this.#run.stop()
  }

  /** A connected rank that holds the trained state. */
  holder(): RankPort | null {
    for (const { peer } of this.#run.members) {
      const port = this.#roster.get(peer)?.port
      if (port) return port
    }
    return null
  }

  #runRank(port: RankPort, name: string): RunRank {
    const { corpus } = this.prepared
    return {
      peer: port.peer,
      name,
      send: (message) => port.send(message),
      sendCorpus: () =>
        port.sendBlob('corpus', corpus, (done) => {
          this.#roster.set(port.peer, { note: 'training data', progress: done / corpus.byteLength })
        }),
    }
  }

  #listener(): RunListener {
    return {
      finished: (report, { epoch, ranks }) => this.#finishedUpdate(this.#history.add(report, epoch, ranks)),
      rewound: (update) => {
        if (this.#history.rewind(update)) this.records.value = this.#history.records
      },
      rankReport: (peer, report, microBatches) => this.#roster.report(peer, report, microBatches),
      generation: (members, reason) => {
        this.#roster.setAll(['training', 'waiting'], 'linking')
        if (members.length > 0) this.#events.add('info', members.length === 1 ? `${members[0]?.name} computes alone (${reason})` : `A ring of ${members.length} forms (${reason})`)
      },
      evaluated: (update, lossSum, items) => {
        const evaluation = this.#history.evaluate(update, lossSum, items)
        this.evaluations.value = this.#history.evaluations
        this.#report({ type: 'evaluation', evaluation })
      },
      generated: (update, ids) => {
        const { tokenizer, settings } = this.prepared
        const sample = this.#history.sample(update, tokenizer.decode(settings.generate.prompt), tokenizer.decode(ids))
        this.samples.value = this.#history.samples
        this.#report({ type: 'sample', sample })
      },
      event: (level, text) => this.#events.add(level, text),
      done: () => {
        this.finished = true
        this.#roster.setAll(['training', 'paused', 'linking', 'waiting'], 'ready')
        this.onPhase?.('finished', `Finished after ${this.records.value.length} updates: save the model, or start again`)
      },
      failed: (cause) => {
        this.#events.add('error', cause)
        this.onPhase?.('failed', cause)
      },
      exported: () => {},
    }
  }

  #finishedUpdate(record: StepRecord): void {
    this.records.value = this.#history.records
    if (this.records.value.length === 1) this.onPhase?.('training', 'Training')
    this.#report({ type: 'record', record })
    if (record.outcome !== 'committed')
      this.#events.add('warning', `Update skipped on all ranks: ${record.outcome === 'skipped-no-items' ? 'nothing to predict' : 'the gradients are not finite'}`)
    const entry = this.#log.add(record)
    if (entry) this.#report({ type: 'log', entry })
  }
}
