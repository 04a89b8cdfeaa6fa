import { type Signal, computed, signal } from '@preact/signals'
import { parameterCount } from '../checkpoint/model-config.ts'
import { BOOK_NAME, loadBook } from '../data/book.ts'
import { buildTokenizer } from '../data/build-tokenizer.ts'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import { type FromRank, PROTOCOL_VERSION } from '../protocol/room-messages.ts'
import type { Signalling } from '../transport/signalling.ts'
import { DataChoice } from './data-choice.ts'
import { chosenOptions } from './chosen-options.ts'
import { type ExportOptions, exportZip } from './export-model.ts'
import { EventLog } from './event-log.ts'
import { ModelRequests } from './model-requests.ts'
import { prepareRun } from './prepare-run.ts'
import { CoordinatorRoom, type RankPort } from './room.ts'
import { Roster } from './roster.ts'
import { ActiveRun } from './active-run.ts'
import type { BrowserCheckpoints, KeptCheckpoint } from './browser-checkpoints.ts'
import type { CheckpointPlace } from './checkpoint-place.ts'
import { KeptList } from './kept-list.ts'
import { StartChoice } from './start-choice.ts'
import type { StartFolder } from './start-folder.ts'
import type { RankRow, SessionPhase, SessionView } from './session-view.ts'

const CONNECT_DEADLINE_MS = 20_000
/** Largest model that a rank may hand over. */
const MAX_MODEL_BYTES = 4e9

export interface SessionSettings {
  readonly signalling: Signalling
  readonly self: string
  readonly build: string
  readonly inviteUrl: string
  /** Peer id of the rank inside this page. */
  readonly ownPeer: string
  readonly computeHere: boolean
  readonly options: TrainingOptions
  /** Null for random weights. */
  readonly start: StartFolder | null
  /** Where a command line keeps checkpoints. */
  readonly place: CheckpointPlace | null
  /** Where this browser keeps them without one; null where it cannot. */
  readonly checkpoints: BrowserCheckpoints | null
  /** Whether the model is only measured on the data, and not trained. */
  readonly evaluatesOnly: boolean
  /** Hears what a command line wants to know. */
  report(event: CliEvent): void
}

/** The coordinator: room, roster, data and the run, as the page shows them. */
export class Session implements SessionView {
  readonly phase = signal<SessionPhase>('setup')
  readonly status = signal('Loading the book')
  readonly options: Signal<TrainingOptions>
  readonly #data = new DataChoice(() => this.options.value.dataset_text_field)
  readonly source = this.#data.source
  readonly validationSource = this.#data.validationSource
  readonly sourceProblem = this.#data.problem
  readonly vocabSize = signal<number | null>(null)
  readonly computeHere: Signal<boolean>
  readonly maxSteps = signal(0)
  readonly inviteUrl: Signal<string>
  readonly roster: Roster
  readonly run = signal<ActiveRun | null>(null)
  readonly kept: KeptList
  readonly #start: StartChoice
  readonly resumesFrom
  readonly #settings: SessionSettings
  readonly #room: CoordinatorRoom
  readonly #log: EventLog
  #raw: Readonly<Record<string, unknown>>
  #names = 0
  readonly #models = new ModelRequests()

  readonly ranks
  readonly records = computed(() => this.run.value?.records.value ?? [])
  readonly evaluations = computed(() => this.run.value?.evaluations.value ?? [])
  readonly samples = computed(() => this.run.value?.samples.value ?? [])
  readonly parameters = computed(() => (this.vocabSize.value === null ? null : parameterCount(this.options.value, this.vocabSize.value)))
  readonly events
  readonly canStart = computed(() => ['setup', 'finished', 'failed'].includes(this.phase.value) && this.source.value !== null && this.ready.value > 0)
  /** Ranks that could take part now. */
  readonly ready = computed(() => this.ranks.value.filter(isReady).length)

  constructor(settings: SessionSettings) {
    this.#settings = settings
    this.options = signal(settings.options)
    this.#start = new StartChoice(settings.start)
    this.resumesFrom = this.#start.checkpoint
    this.kept = new KeptList(settings.checkpoints)
    this.#raw = chosenOptions(settings.options)
    this.computeHere = signal(settings.computeHere)
    this.inviteUrl = signal(settings.inviteUrl)
    this.roster = new Roster(() => settings.ownPeer)
    this.ranks = this.roster.rows
    this.#log = new EventLog((event) => settings.report({ type: 'event', level: event.level, text: event.text }))
    this.events = this.#log.events
    this.#room = new CoordinatorRoom(
      { signalling: settings.signalling, self: settings.self, iceServers: [], connectDeadlineMs: CONNECT_DEADLINE_MS, maxBlobBytes: MAX_MODEL_BYTES },
      {
        appeared: (peer, name) => this.roster.appear(peer, name),
        connected: (port) => this.roster.connect(port),
        message: (peer, message) => this.#message(peer, message),
        blob: (peer, name, bytes) => {
          if (name === 'model') this.#models.arrived(peer, bytes)
          else this.run.value?.blob(peer, name, bytes)
        },
        gone: (peer, cause) => this.#gone(peer, cause),
        dropped: (peer) => this.#log.add('warning', `A message of ${this.roster.name(peer)} did not read and was dropped`),
      },
    )
    settings.report({ type: 'invite', url: settings.inviteUrl })
  }

  async announce(): Promise<void> {
    await this.#settings.signalling.join({ role: 'coordinator', name: 'Coordinator', session: this.#settings.self, build: this.#settings.build })
  }

  setOption(name: string, value: unknown): void {
    const raw = name === 'preset' ? { preset: value } : { ...this.#raw, [name]: value }
    this.#setOptions(this.#start.options(raw), raw)
  }

  async resumeFrom(checkpoint: KeptCheckpoint): Promise<void> {
    const { checkpoints } = this.#settings
    if (!checkpoints) return
    const chosen = await this.#start.resume(checkpoint, checkpoints)
    this.#setOptions(this.#start.options(chosen), chosen)
    const { name } = checkpoint.source
    this.status.value =
      this.source.value?.name === name ? `Ready to go on from ${checkpoint.name}: press Start` : `To go on from ${checkpoint.name}, choose ${name} as the data again`
  }

  startAnew(): void {
    this.#start.clear()
    this.#raw = chosenOptions(this.options.value)
    this.status.value = 'Ready to start from random weights'
  }

  async useBook(): Promise<void> {
    await this.#choose(() => this.#data.useText(BOOK_NAME, loadBook))
  }

  async useFile(file: File): Promise<void> {
    await this.#choose(() => this.#data.useFile(file))
  }

  async useValidationFile(file: File | null): Promise<void> {
    await this.#choose(() => this.#data.useValidationFile(file))
  }

  setComputeHere(on: boolean): void {
    this.computeHere.value = on
  }

  async start(): Promise<void> {
    const data = this.#data.data
    if (data === null) throw new Error('Cannot start: there is no data, need the book or a file')
    const ready = this.roster.ready()
    if (ready.length === 0) throw new Error('Cannot start: no rank is ready, need this tab or another one to compute')
    this.#say('preparing', 'Preparing the data')
    try {
      const { evaluatesOnly } = this.#settings
      const options = this.options.value
      const place = this.#settings.place ?? this.kept.place(options)
      const prepared = await prepareRun(data, options, ready.length, { start: this.#start.folder, keeps: place !== null, evaluatesOnly })
      this.vocabSize.value = prepared.tokenizer.vocabSize
      this.maxSteps.value = prepared.settings.totalUpdates
      const source = this.source.value
      if (!source) return
      const run = new ActiveRun(prepared, source, { roster: this.roster, events: this.#log, report: this.#settings.report, place })
      run.onPhase = (phase, status) => {
        if (this.run.value === run) this.#say(phase, status)
      }
      this.run.value = run
      this.#settings.report({
        type: 'started',
        maxSteps: prepared.settings.totalUpdates,
        parameters: prepared.parameters,
        vocabSize: prepared.tokenizer.vocabSize,
        ranks: ready.length,
      })
      this.#say('preparing', 'Sending the training data to the ranks')
      run.begin(ready)
    } catch (cause) {
      this.#say('failed', messageOf(cause))
    }
  }

  pause(): void {
    if (this.phase.value !== 'training') return
    this.run.value?.pause()
    this.#say('paused', 'Paused: the ranks wait and keep their state')
  }

  resume(): void {
    if (this.phase.value !== 'paused') return
    this.#say('training', 'Training')
    this.run.value?.resume()
  }

  stop(): void {
    if (!['preparing', 'training', 'paused'].includes(this.phase.value)) return
    this.#say('stopping', 'Finishing the planned updates')
    this.run.value?.stop()
  }

  async save(options: ExportOptions): Promise<{ readonly name: string; readonly blob: Blob }> {
    const run = this.run.value
    if (!run) throw new Error('Cannot save: nothing was trained yet, need a started run')
    const holder = run.holder()
    if (!holder) throw new Error('Cannot save: no rank that holds the model is connected, need at least one')
    return exportZip(run, await this.#models.ask(holder, this.roster.name(holder.peer)), options)
  }

  close(): void {
    this.#room.close()
  }

  async #choose(choose: () => Promise<void>): Promise<void> {
    await choose()
    if (this.sourceProblem.value !== '') this.#log.add('error', this.sourceProblem.value)
    if (this.source.value === null) this.status.value = 'There is no text yet: choose a file to train on'
    else if (this.phase.value === 'setup') this.status.value = 'Ready: choose what to train, invite others, press Start'
    this.vocabSize.value = null
    await this.#countVocabulary()
  }

  /** For the page, before a run: a bpe vocabulary is trained at the start only, to at most so many tokens, and that of rows is known then. */
  async #countVocabulary(): Promise<void> {
    const data = this.#data.data?.train
    const options = this.options.value
    if (data?.kind !== 'text' || options.tokenizer === 'file') return
    const size = options.tokenizer === 'bpe' ? options.vocab_size : (await buildTokenizer(options, data.text)).vocabSize
    if (data === this.#data.data?.train && options.tokenizer === this.options.value.tokenizer) this.vocabSize.value = size
  }

  #message(peer: string, message: FromRank): void {
    const port = this.roster.get(peer)?.port
    if (message.type === 'hello' && port) this.#hello(port, message)
    else if (message.type === 'progress') this.roster.set(peer, { note: message.phase, progress: message.total > 0 ? message.done / message.total : null })
    else if (message.type === 'visibility') this.roster.set(peer, { hidden: message.hidden })
    else this.run.value?.receive(peer, message)
  }

  #hello(port: RankPort, hello: Extract<FromRank, { type: 'hello' }>): void {
    const refusal = this.#refusal(hello)
    if (refusal) {
      this.roster.set(port.peer, { state: 'refused', note: refusal })
      port.send({ type: 'refused', reason: refusal })
      this.#log.add('warning', `${hello.name} was not let in: ${refusal}`)
      return
    }
    const name = hello.name.trim() || `Tab ${++this.#names}`
    this.roster.welcome(port.peer, hello, name)
    port.send({ type: 'admitted', rankName: name })
    this.#log.add('info', `${name} is here`)
    const entry = this.roster.get(port.peer)
    if (entry && ['preparing', 'training', 'paused'].includes(this.phase.value)) this.run.value?.join(entry)
  }

  #refusal(hello: Extract<FromRank, { type: 'hello' }>): string | null {
    if (hello.build !== this.#settings.build || hello.protocol !== PROTOCOL_VERSION) return 'This page runs another build than the coordinator: reload it'
    if (!hello.selfTest.passed) return `The numeric self-test failed with an error of ${hello.selfTest.worstError}`
    const { max_ranks } = this.options.value
    if (this.ready.value >= max_ranks) return `The room is full: max_ranks is ${max_ranks}`
    return null
  }

  #gone(peer: string, cause: string): void {
    const name = this.roster.name(peer)
    this.roster.leave(peer, cause)
    this.#log.add('info', `${name} is gone: ${cause}`)
    this.run.value?.leave(peer, cause)
  }

  #setOptions(options: TrainingOptions, raw: Readonly<Record<string, unknown>>): void {
    const { tokenizer, vocab_size } = this.options.value
    this.options.value = options
    this.#raw = raw
    if (tokenizer !== options.tokenizer || vocab_size !== options.vocab_size) void this.#countVocabulary()
  }

  #say(phase: SessionPhase, status: string): void {
    this.phase.value = phase
    this.status.value = status
    this.#settings.report({ type: 'status', phase, status })
  }
}

function isReady({ state }: RankRow): boolean {
  return !['left', 'refused', 'failed', 'connecting', 'checking'].includes(state)
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
