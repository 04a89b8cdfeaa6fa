import { signal } from '@preact/signals'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { FromRank } from '../protocol/room-messages.ts'
import type { EvaluationRecord, StepRecord, TextSample } from '../protocol/step-record.ts'
import { TrainerLog } from '../protocol/trainer-log.ts'
import { CheckpointKeeper } from './checkpoint-keeper.ts'
import type { CheckpointPlace } from './checkpoint-place.ts'
import { isPatienceOver } from './early-stop.ts'
import type { EventLog } from './event-log.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { RankPort } from './room.ts'
import type { Roster, RosterEntry } from './roster.ts'
import { RunHistory } from './run-history.ts'
import { Run } from './run.ts'
import type { RunListener, RunRank } from './run-ports.ts'
import type { SessionPhase, TextSource } from './session-view.ts'

export interface ActiveRunPorts {
  readonly roster: Roster
  readonly events: EventLog
  report(event: CliEvent): void
  /** Null where nothing is kept. */
  readonly place: CheckpointPlace | null
}

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
  readonly #keeper: CheckpointKeeper | null
  #training = false

  constructor(prepared: PreparedRun, source: TextSource, { roster, events, report, place }: ActiveRunPorts) {
    this.prepared = prepared
    this.source = source
    this.#roster = roster
    this.#events = events
    this.#report = report
    this.#history = new RunHistory(() => performance.now(), prepared.past)
    this.#log = new TrainerLog(prepared.options)
    this.records.value = this.#history.records
    this.evaluations.value = this.#history.evaluations
    for (const record of this.#history.records) this.#log.add(record) // its lines stand; what is left over belongs to the next one
    this.#run = new Run(prepared.settings, this.#listener())
    this.#keeper = place && new CheckpointKeeper(this, this.#history, { place, done: (window, problem) => this.#kept(window, problem) })
  }

  begin(ranks: readonly RosterEntry[]): void {
    for (const note of this.prepared.notes) this.#events.add('warning', note)
    this.#run.expect(ranks.length)
    for (const rank of ranks) this.join(rank)
  }

  join({ row, port }: RosterEntry): void {
    if (!port) return
    this.#roster.set(row.peer, { state: 'receiving data', note: '', progress: 0 })
    this.#run.add(this.#runRank(port, row.name))
  }

  leave(peer: string, cause: string): void {
    const window = this.#keeper?.lost(peer) ?? null
    if (window !== null) this.#run.checkpointEnded(window, 'lost')
    this.#run.remove(peer, cause)
  }

  receive(peer: string, message: FromRank): void {
    if (message.type === 'prepared') this.#roster.set(peer, { state: 'waiting', note: '', progress: null })
    if (message.type === 'formed') this.#roster.set(peer, { state: 'training', note: '' })
    if (message.type === 'failed' && message.fatal) this.#roster.set(peer, { state: 'failed', note: message.cause })
    this.#run.receive(peer, message)
  }

  blob(peer: string, name: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.#keeper?.blob(peer, name, bytes)
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
    const { corpus, start, weights } = this.prepared
    return {
      peer: port.peer,
      name,
      send: (message) => port.send(message),
      sendCorpus: async () => {
        await this.#sendBlob(port, 'corpus', corpus, 'training data')
        if (weights) await this.#sendBlob(port, 'model', weights, 'weights')
        if (start?.resumed) await this.#sendBlob(port, 'optimizer', start.resumed.optimizer, 'optimizer state')
      },
    }
  }

  #sendBlob(port: RankPort, name: string, bytes: Uint8Array<ArrayBuffer>, note: string): Promise<void> {
    return port.sendBlob(name, bytes, (done) => this.#roster.set(port.peer, { note, progress: done / bytes.byteLength }))
  }

  #kept(window: number, problem: string | null): void {
    if (problem !== null) this.#events.add('warning', problem)
    this.#run.checkpointEnded(window, 'done')
  }

  #listener(): RunListener {
    return {
      finished: (report, planned) => this.#finishedUpdate(this.#history.add(report, planned)),
      rewound: (update) => {
        if (this.#history.rewind(update)) this.records.value = this.#history.records
        this.#keeper?.rewound(update)
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
        this.#keeper?.look()
        this.#stopEarly()
      },
      generated: (update, ids) => {
        const { tokenizer, settings } = this.prepared
        const sample = this.#history.sample(update, tokenizer.decode(settings.generate.prompt), tokenizer.decode(ids))
        this.samples.value = this.#history.samples
        this.#report({ type: 'sample', sample })
      },
      checkpointed: (peer, window, committed) => this.#keeper?.taken(peer, window, committed),
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
    }
  }

  #stopEarly(): void {
    const { early_stopping_patience: patience, early_stopping_threshold: threshold } = this.prepared.options
    if (patience === null || !isPatienceOver(this.#history.evaluations, { patience, threshold })) return
    this.#events.add(
      'warning',
      `The validation loss has not fallen${threshold > 0 ? ` by more than ${threshold}` : ''} in ${patience === 1 ? 'the last evaluation' : `${patience} evaluations in a row`}: training ends here`,
    )
    this.stop()
  }

  #finishedUpdate(record: StepRecord): void {
    this.records.value = this.#history.records
    if (!this.#training) this.onPhase?.('training', 'Training')
    this.#training = true
    this.#report({ type: 'record', record })
    if (record.outcome !== 'committed')
      this.#events.add('warning', `Update skipped on all ranks: ${record.outcome === 'skipped-no-items' ? 'nothing to predict' : 'the gradients are not finite'}`)
    const entry = this.#log.add(record)
    if (entry) this.#report({ type: 'log', entry })
    this.#keeper?.look()
  }
}
