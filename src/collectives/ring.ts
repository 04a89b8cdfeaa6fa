import { buildFrame, type Frame, type FrameKind, MAX_FRAME_BYTES, MAX_PAYLOAD_BYTES, parseFrame } from '../protocol/frame.ts'
import type { Link } from '../transport/link.ts'
import { AllGather } from './all-gather.ts'
import { AllReduce } from './all-reduce.ts'
import { Broadcast } from './broadcast.ts'
import type { Collective, CollectiveTag, RingSeat } from './collective.ts'
import { BEAT_MS, Heartbeat } from './heartbeat.ts'
import { Inbox } from './inbox.ts'
import { Outbox } from './outbox.ts'

/** Most that neighbours may send ahead of this rank before the ring is given up. */
const EARLY_LIMIT_BYTES = 1 << 30
/** A longer cause is cut before it is passed on. */
const MAX_CAUSE_BYTES = 1_000

export interface RingStats {
  /** Not a whole frame of this version. */
  readonly garbage: number
  /** F2. */
  readonly otherGeneration: number
  /** Of no collective under way or to come, or not as it must be. */
  readonly unexpected: number
}

/** Collectives over the links to two neighbours; only sums, and the same bits on every rank. */
export interface Ring {
  readonly rank: number
  readonly worldSize: number
  readonly failed: boolean
  /** Told once, whatever ends the ring. */
  onFailure: ((cause: Error) => void) | null
  readonly bytesSent: number
  /** Time in which this rank had something to send. */
  readonly sendingMs: number
  readonly stats: RingStats
  /** Replaces `data` by the sum over ranks. It must not be touched until then. */
  allReduce(data: Float32Array<ArrayBuffer>, tag: CollectiveTag): Promise<void>
  /** Everyone's bytes, by rank; all give equally many, at most a frame. */
  allGather(mine: Uint8Array<ArrayBuffer>, tag: CollectiveTag): Promise<Uint8Array<ArrayBuffer>[]>
  /** Replaces `bytes` by the root's; equally many on all ranks. */
  broadcast(bytes: Uint8Array<ArrayBuffer>, root: number, tag: CollectiveTag): Promise<void>
  /** Ends the ring, here and at the neighbours; what is under way rejects at once (M3). */
  abort(cause: string): void
}

export interface RingSettings {
  readonly rank: number
  readonly worldSize: number
  readonly generation: number
  /** Open links; null with one rank, the same one twice with two. */
  readonly next: Link | null
  readonly previous: Link | null
  /** M7: the ring fails when collectives are under way and nothing moves for so long. */
  readonly deadlineMs: number
}

/** @throws when the rank or a link is missing. */
export function createRing(settings: RingSettings): Ring {
  const { rank, worldSize, next, previous } = settings
  if (!(rank >= 0 && rank < worldSize)) throw new Error(`Cannot create a ring: rank is ${rank}, need 0 to ${worldSize - 1}`)
  if (worldSize > 1 && (!next || !previous)) throw new Error(`Cannot create a ring of ${worldSize}: a link is missing, need one to each neighbour`)
  if (worldSize === 2 && next !== previous) throw new Error('Cannot create a ring of 2: two links, need the same one for both directions')
  return new LinkRing(settings)
}

type Operation = 'all-reduce' | 'all-gather' | 'broadcast'

class LinkRing implements Ring {
  readonly rank: number
  readonly worldSize: number
  readonly #settings: RingSettings
  readonly #stats = { garbage: 0, otherGeneration: 0, unexpected: 0 }
  readonly #outboxes = new Map<Link, Outbox>()
  readonly #heartbeats = new Map<Link, Heartbeat>()
  readonly #seat: RingSeat
  readonly #early = new Inbox(EARLY_LIMIT_BYTES)
  readonly #underWay = new Map<string, { readonly title: string; readonly collective: Collective }>()
  /** Newest tag begun, by operation: what is older and not under way is over. */
  readonly #newest = new Map<Operation, CollectiveTag>()
  #failure: string | null = null
  #onFailure: Ring['onFailure'] = null
  #lastProgressMs = 0
  #lastBeatMs = performance.now()
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(settings: RingSettings) {
    this.#settings = settings
    this.rank = settings.rank
    this.worldSize = settings.worldSize
    this.#seat = this.#createSeat()
    const links = new Set([settings.next, settings.previous].filter((link) => link !== null))
    if (this.worldSize === 1) return
    for (const link of links) this.#use(link)
    this.#timer = setInterval(() => this.#beat(), BEAT_MS)
  }

  get onFailure(): Ring['onFailure'] {
    return this.#onFailure
  }

  set onFailure(listener: Ring['onFailure']) {
    this.#onFailure = listener
    // A link may have brought the end with it.
    if (this.#failure !== null) queueMicrotask(() => this.#tell())
  }

  get failed(): boolean {
    return this.#failure !== null
  }

  get stats(): RingStats {
    return this.#stats
  }

  get bytesSent(): number {
    let sum = 0
    for (const { bytesSent } of this.#outboxes.values()) sum += bytesSent
    return sum
  }

  get sendingMs(): number {
    let sum = 0
    for (const { sendingMs } of this.#outboxes.values()) sum += sendingMs
    return sum
  }

  async allReduce(data: Float32Array<ArrayBuffer>, tag: CollectiveTag): Promise<void> {
    await this.#run('all-reduce', tag, new AllReduce(this.#seat, tag, data))
  }

  async allGather(mine: Uint8Array<ArrayBuffer>, tag: CollectiveTag): Promise<Uint8Array<ArrayBuffer>[]> {
    if (mine.byteLength > MAX_PAYLOAD_BYTES) throw new Error(`Cannot all-gather ${mine.byteLength} bytes, need at most ${MAX_PAYLOAD_BYTES}`)
    const gather = new AllGather(this.#seat, tag, mine)
    await this.#run('all-gather', tag, gather)
    return gather.parts
  }

  async broadcast(bytes: Uint8Array<ArrayBuffer>, root: number, tag: CollectiveTag): Promise<void> {
    if (!(root >= 0 && root < this.worldSize)) throw new Error(`Cannot broadcast from rank ${root}, need 0 to ${this.worldSize - 1}`)
    await this.#run('broadcast', tag, new Broadcast(this.#seat, tag, { bytes, root }))
  }

  abort(cause: string): void {
    this.#fail(cause, cause)
  }

  #createSeat(): RingSeat {
    const { rank, worldSize, generation, next, previous } = this.#settings
    const outbox = (link: Link | null) => (link ? this.#outboxes.get(link) : undefined)
    return {
      rank,
      worldSize,
      generation,
      scratch: new Uint8Array(MAX_FRAME_BYTES),
      forward: (bytes, sent) => outbox(next)?.forward(bytes, sent),
      supply: (source) => outbox(next)?.supply(source),
      poke: () => outbox(next)?.poke(),
      sendBack: (bytes) => void outbox(previous)?.urgent(bytes),
    }
  }

  #use(link: Link): void {
    const outbox = new Outbox(link, {
      progress: () => this.#progress(),
      broken: (cause) => this.#fail(`${link.name} cannot be reached: ${cause.message}`),
    })
    this.#outboxes.set(link, outbox)
    const heartbeat = new Heartbeat({
      send: (kind) => void outbox.urgent(buildFrame({ kind, generation: this.#settings.generation, update: 0, collective: 0, chunk: 0 })),
      bytesSent: () => outbox.bytesSent,
      lost: (reason) => this.#fail(`${link.name} does not answer: ${reason}`),
    })
    this.#heartbeats.set(link, heartbeat)
    link.onFrame = (bytes) => this.#hear(link, outbox, heartbeat, bytes)
    link.onClose = (cause) => this.#fail(`the link to ${link.name} is closed: ${cause.message}`)
  }

  async #run(operation: Operation, tag: CollectiveTag, collective: Collective): Promise<void> {
    const title = `${operation} ${tag.collective} of update ${tag.update}`
    if (this.#failure !== null) throw new Error(`Cannot start ${title}: the ring is broken: ${this.#failure}`)
    if (this.worldSize === 1) return
    const newest = this.#newest.get(operation)
    if (newest && !isAfter(tag, newest)) {
      throw new Error(`Cannot start ${title}: number ${newest.collective} of update ${newest.update} was started before, need rising numbers`)
    }
    this.#newest.set(operation, tag)
    if (this.#underWay.size === 0) this.#progress()
    const key = keyOf(operation, tag)
    this.#underWay.set(key, { title, collective })
    collective.start()
    for (const frame of this.#early.take(key)) this.#offer(collective, frame)
    try {
      await collective.done
    } finally {
      this.#underWay.delete(key)
    }
  }

  #hear(link: Link, outbox: Outbox, heartbeat: Heartbeat, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#failure !== null) return
    // Floats are read where they lie, which needs whole words.
    const frame = parseFrame(bytes.byteOffset % 4 === 0 ? bytes : bytes.slice())
    if (!frame) {
      this.#stats.garbage++
      return
    }
    heartbeat.heard()
    if (frame.generation !== this.#settings.generation) {
      this.#stats.otherGeneration++
      return
    }
    if (frame.kind === 'alive') return
    if (frame.kind === 'probe') return void outbox.urgent(buildFrame({ ...frame, kind: 'alive' }))
    if (frame.kind === 'abort') {
      const cause = new TextDecoder().decode(frame.payload.subarray(0, MAX_CAUSE_BYTES))
      return this.#fail(`${link.name} has given it up: ${cause}`, cause)
    }
    const source = frame.kind === 'ready' ? this.#settings.next : this.#settings.previous
    if (link === source) this.#route(operationOf(frame.kind), frame)
    else this.#stats.unexpected++
  }

  #route(operation: Operation, frame: Frame): void {
    const key = keyOf(operation, frame)
    const newest = this.#newest.get(operation)
    const running = this.#underWay.get(key)
    if (running) this.#offer(running.collective, frame)
    else if (newest && !isAfter(frame, newest)) this.#stats.unexpected++
    else if (!this.#early.keep(key, frame)) this.#fail(`a neighbour is ${EARLY_LIMIT_BYTES / 2 ** 20} MiB ahead, at ${operation} ${frame.collective} of update ${frame.update}`)
  }

  #offer(collective: Collective, frame: Frame): void {
    if (collective.accept(frame)) this.#progress()
    else this.#stats.unexpected++
  }

  #progress(): void {
    this.#lastProgressMs = performance.now()
  }

  #beat(): void {
    for (const heartbeat of this.#heartbeats.values()) heartbeat.beat()
    const now = performance.now()
    // Time in which this side stood still is nobody's: what came meanwhile waits behind this timer.
    const stoodStillMs = now - this.#lastBeatMs - BEAT_MS
    if (stoodStillMs > BEAT_MS) this.#lastProgressMs += stoodStillMs
    this.#lastBeatMs = now
    const waitedMs = now - this.#lastProgressMs
    const [first] = this.#underWay.values()
    if (!first || waitedMs < this.#settings.deadlineMs) return
    const { next, previous } = this.#settings
    const seconds = (waitedMs / 1000).toFixed(1)
    this.#fail(first.collective.waitsFor === 'next' ? `${next?.name} has taken nothing for ${seconds} s` : `nothing has come from ${previous?.name} for ${seconds} s`)
  }

  /** `origin` is what first went wrong, for the ranks further round; told to both neighbours. */
  #fail(reason: string, origin = reason): void {
    if (this.#failure !== null) return
    this.#failure = reason
    if (this.#timer !== null) clearInterval(this.#timer)
    const payload = new TextEncoder().encode(origin).subarray(0, MAX_CAUSE_BYTES)
    const abort = buildFrame({ kind: 'abort', generation: this.#settings.generation, update: 0, collective: 0, chunk: 0 }, payload)
    for (const outbox of this.#outboxes.values()) {
      outbox.stop()
      outbox.urgent(abort)
    }
    this.#early.clear()
    for (const { title, collective } of this.#underWay.values()) collective.fail(new Error(`Cannot finish ${title}: ${reason}`))
    this.#tell()
  }

  #tell(): void {
    const listener = this.#onFailure
    if (!listener) return
    this.#onFailure = null
    listener(new Error(`The ring of generation ${this.#settings.generation} is broken: ${this.#failure}`))
  }
}

function operationOf(kind: Exclude<FrameKind, 'alive' | 'probe' | 'abort'>): Operation {
  if (kind === 'all-gather') return kind
  return kind === 'broadcast' || kind === 'ready' ? 'broadcast' : 'all-reduce'
}

function keyOf(operation: Operation, { update, collective }: CollectiveTag): string {
  return `${operation} ${update} ${collective}`
}

function isAfter(a: CollectiveTag, b: CollectiveTag): boolean {
  return a.update > b.update || (a.update === b.update && a.collective > b.collective)
}
