import { signal } from '@preact/signals'
import { parseToRank } from '../protocol/parse-messages.ts'
import { type FromRank, type Member, PROTOCOL_VERSION, type ToRank } from '../protocol/room-messages.ts'
import { type OpenedPeer, openPeer } from '../transport/peer-connection.ts'
import type { Presence, Signalling } from '../transport/signalling.ts'
import { browserName } from './browser-name.ts'
import { NeighbourLinks } from './neighbour-links.ts'
import type { RankPhase, RankView } from './rank-view.ts'
import { keepAwake } from './wake-lock.ts'
import { callback, moved, movedBody, type NamedBlob, openRankWorker, type WorkerHandle } from './worker-bridge.ts'

/** How long a visitor waits for a coordinator before the page says that the room is empty; it goes on waiting. */
const ROOM_SILENCE_MS = 6_000
const CONNECT_DEADLINE_MS = 15_000
/** Largest blob that a coordinator may send: training tokens, weights, or the optimizer's state. */
const MAX_BLOB_BYTES = 4e9

export interface RankSettings {
  readonly room: string
  readonly build: string
  readonly profile: 'auto' | 'lane' | 'shared'
  /** The coordinator's own rank: no name to ask for, no consent of its own. */
  readonly peer: string
  openSignalling(): Promise<Signalling>
  /** Hears the name that the visitor joins under. */
  onJoin(name: string): void
}

/** A rank's page side: consent, signalling, links; the Worker computes. */
export function createRank(settings: RankSettings): RankView {
  return new RankClient(settings)
}

class RankClient implements RankView {
  readonly phase = signal<RankPhase>('consent')
  readonly status = signal('')
  readonly detail = signal('')
  readonly name = signal('')
  readonly progress = signal<RankView['progress']['value']>(null)
  readonly contribution = signal<RankView['contribution']['value']>({ updates: 0, tokens: 0, tokensPerSecond: 0, share: 0, loss: null })
  readonly wakeLock = signal(false)
  readonly #settings: RankSettings
  #signalling: Signalling | null = null
  #coordinator: OpenedPeer | null = null
  #coordinatorPeer: string | null = null
  #worker: WorkerHandle | null = null
  #neighbours: NeighbourLinks | null = null
  #hello: Extract<FromRank, { type: 'hello' }> | null = null
  #session = ''
  #releaseWakeLock: (() => void) | null = null

  constructor(settings: RankSettings) {
    this.#settings = settings
    addEventListener('pagehide', () => this.#goodbye())
    document.addEventListener('visibilitychange', () => this.#send({ type: 'visibility', hidden: document.hidden }))
  }

  get room(): string {
    return this.#settings.room
  }

  async join(name: string): Promise<void> {
    this.name.value = name
    this.#settings.onJoin(name)
    try {
      this.#say('preflight', 'Checking this device', 'Opening the graphics card and running a short numeric test.')
      await this.#openWorker(name)
      this.#say('connecting', 'Looking for the room', `Room ${this.room}`)
      await this.#announce()
    } catch (cause) {
      this.#stop('failed', 'This tab cannot take part', cause instanceof Error ? cause.message : String(cause))
    }
  }

  leave(): void {
    this.#goodbye()
    this.#stop('left', 'You have left the room', 'Thank you. The others go on without this tab; you may close it or join again.')
  }

  async #openWorker(name: string): Promise<void> {
    const worker = openRankWorker()
    this.#worker = worker
    const { peer, profile, build } = this.#settings
    const died = new Promise<never>((_, reject) => {
      worker.onError = (cause) => {
        reject(new Error(cause))
        this.#stop('failed', 'The compute part of this tab has stopped', cause)
      }
    })
    died.catch(() => {})
    const started = worker.api.start(
      peer,
      profile,
      callback((message, ...blobs) => this.#fromWorker(message, blobs)),
    )
    const { adapter, selfTest } = await Promise.race([started, died])
    this.#hello = { type: 'hello', protocol: PROTOCOL_VERSION, build, name, browser: browserName(navigator.userAgent), adapter, selfTest }
    if (!selfTest.passed)
      throw new Error(`The numeric self-test failed: this device's results are off by ${selfTest.worstError.toExponential(1)}. A newer browser or graphics driver may help.`)
  }

  async #announce(): Promise<void> {
    this.#session = crypto.randomUUID()
    const signalling = await this.#settings.openSignalling()
    this.#signalling = signalling
    this.#neighbours = new NeighbourLinks(signalling, this.#settings.peer, CONNECT_DEADLINE_MS, {
      attach: (generation, member, body) => void this.#worker?.api.attach(generation, member, movedBody(body)),
      failed: (generation, cause) => this.#send({ type: 'failed', generation, update: null, cause, fatal: false }),
    })
    const silence = setTimeout(() => {
      if (!this.#coordinator)
        this.#say(
          'connecting',
          `Nobody coordinates room ${this.room} right now`,
          'The link may be old, or the coordinator page is closed. This page keeps looking; ask for a new link if it stays like this.',
        )
    }, ROOM_SILENCE_MS)
    signalling.onPeer = (peer, presence) => {
      if (presence?.role !== 'coordinator') return
      clearTimeout(silence)
      this.#meet(peer, presence)
    }
    await signalling.join({ role: 'rank', name: this.name.value, session: this.#session, build: this.#settings.build })
  }

  /** Opens the control connection to the coordinator that has appeared. */
  #meet(peer: string, presence: Presence): void {
    if (this.#coordinatorPeer === peer || !this.#signalling) return
    if (presence.build !== this.#settings.build) {
      return this.#stop(
        'refused',
        'This page is from another version',
        'The coordinator runs another build of Tabring. Reload this page; if that does not help, ask the coordinator to reload theirs.',
      )
    }
    this.#coordinatorPeer = peer
    const opened = openPeer({
      signalling: this.#signalling,
      remote: peer,
      initiator: true,
      session: this.#session,
      iceServers: [],
      connectDeadlineMs: CONNECT_DEADLINE_MS,
      maxBlobBytes: MAX_BLOB_BYTES,
    })
    this.#coordinator = opened
    const { control } = opened
    control.onMessage = (raw) => {
      const message = parseToRank(raw)
      if (message) this.#fromCoordinator(message)
    }
    control.onBlobProgress = (name, done, total) => {
      this.progress.value = { label: name === 'corpus' ? 'Training data' : 'Weights', done, total, unit: 'bytes' }
    }
    control.onBlob = (name, bytes) => void this.#worker?.api.receiveBlob(name, moved(bytes))
    control.onClose = () => this.#lostCoordinator(peer)
    opened.ready.then(
      () => {
        if (this.#hello) this.#send(this.#hello)
      },
      (cause: unknown) => this.#stop('failed', 'No connection to the coordinator', cause instanceof Error ? cause.message : String(cause)),
    )
  }

  #fromCoordinator(message: ToRank): void {
    switch (message.type) {
      case 'admitted':
        this.name.value = message.rankName
        this.#say('waiting', 'You are in. Waiting for the start', 'Keep this tab open. It may lie in the background.')
        this.#releaseWakeLock ??= keepAwake((held) => {
          this.wakeLock.value = held
        })
        return
      case 'refused':
        return this.#stop('refused', 'The coordinator did not let this tab in', message.reason)
      case 'prepare':
        this.#say('receiving', 'Receiving the training data', '')
        break
      case 'form':
        this.progress.value = null
        this.#say('training', 'Linking up with the other tabs', describeRing(message.members, this.#settings.peer))
        this.#neighbours?.form(message.generation, message.members)
        break
      case 'plan':
        if (this.phase.value !== 'training' || this.contribution.value.updates === 0) this.#say('training', 'Training', this.detail.value)
        break
      case 'pause':
        this.#say('paused', 'Paused by the coordinator', 'This tab keeps its state and goes on when training does. Keep it open.')
        break
      case 'abort':
        this.#neighbours?.closeBelow(message.generation + 1)
        this.#say('paused', 'The ring is being rebuilt', message.cause)
        break
      case 'finish':
        this.#say('finished', message.summary, 'Thank you for computing. This tab keeps the model until the coordinator has saved it; then you may close it.')
        break
      case 'sync':
      case 'evaluate':
      case 'generate':
      case 'export':
      case 'checkpoint':
        break
      default:
        message satisfies never
    }
    void this.#worker?.api.handle(message)
  }

  #fromWorker(message: FromRank, blobs: readonly NamedBlob[]): void {
    if (message.type === 'progress') this.progress.value = { label: message.phase, done: message.done, total: message.total, unit: message.unit }
    if (message.type === 'prepared') {
      this.progress.value = null
      this.#say('waiting', 'Ready', 'The model is set up. Waiting for the other tabs.')
    }
    if (message.type === 'report') this.#count(message)
    this.#send(message)
    for (const { name, bytes } of blobs) this.#coordinator?.control.sendBlob(name, bytes).catch(() => {}) // the control connection's own close handler reports it
    if (message.type === 'leaving') this.#stop('failed', 'This tab had to leave the room', 'Its graphics device was lost. Reload the page to join again.')
  }

  #count({ report }: Extract<FromRank, { type: 'report' }>): void {
    const before = this.contribution.value
    const roomTokens = Math.max(report.tokens, report.numItems)
    this.contribution.value = {
      updates: before.updates + 1,
      tokens: before.tokens + report.tokens,
      tokensPerSecond: (report.tokens * 1000) / Math.max(1, report.times.totalMs),
      share: Math.min(1, report.tokens / Math.max(1, roomTokens)),
      loss: report.lossSum / report.numItems,
    }
  }

  #lostCoordinator(peer: string): void {
    if (this.#coordinatorPeer !== peer || ['left', 'refused', 'failed'].includes(this.phase.value)) return
    this.#coordinator = null
    this.#coordinatorPeer = null
    if (this.phase.value === 'finished') return
    this.#say('connecting', 'The coordinator is gone', 'This tab keeps its state and goes on when the coordinator page is back.')
  }

  #send(message: FromRank): void {
    const control = this.#coordinator?.control
    if (control?.open) control.send(message)
  }

  #goodbye(): void {
    this.#send({ type: 'leaving' })
    this.#neighbours?.closeBelow(Number.POSITIVE_INFINITY)
    this.#coordinator?.close()
    this.#signalling?.close()
  }

  #stop(phase: RankPhase, status: string, detail: string): void {
    if (['left', 'refused', 'failed'].includes(this.phase.value)) return
    this.#say(phase, status, detail)
    this.progress.value = null
    this.#goodbye()
    void this.#worker?.api.close(status)
    this.#worker?.terminate()
    this.#worker = null
    this.#releaseWakeLock?.()
    this.#releaseWakeLock = null
  }

  #say(phase: RankPhase, status: string, detail: string): void {
    this.phase.value = phase
    this.status.value = status
    this.detail.value = detail
  }
}

function describeRing(members: readonly Member[], self: string): string {
  if (members.length === 1) return 'This tab computes alone.'
  const others = members.filter((member) => member.peer !== self).map((member) => member.name)
  return `In a ring of ${members.length} with ${others.slice(0, 4).join(', ')}${others.length > 4 ? ' and others' : ''}.`
}
