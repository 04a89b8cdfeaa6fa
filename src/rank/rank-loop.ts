import { type Deferred, deferred } from '../base/deferred.ts'
import type { Ring } from '../collectives/ring.ts'
import { createRing } from '../collectives/ring.ts'
import type { FromRank, Member, ToRank } from '../protocol/room-messages.ts'
import type { Link } from '../transport/link.ts'
import { LinkTable } from './link-table.ts'
import type { Replica, RunFiles } from './replica.ts'
import type { NamedBlob } from './worker-bridge.ts'

export interface RankLoopPorts {
  /** To the coordinator; the blobs follow the message. */
  emit(message: FromRank, ...blobs: NamedBlob[]): void
  /** Builds model, optimizer and data for a run; reports its phases. */
  prepare(message: Extract<ToRank, { type: 'prepare' }>, files: RunFiles): Promise<Replica>
  readonly peer: string
}

/**
 * What a rank does with the coordinator's messages, in order: prepare, form a ring, take the source's state, compute
 * planned updates. Knows neither comlink nor WebRTC, so that Node tests run it over loopback links.
 * `abort` and `form` overtake: they end whatever waits in an older generation.
 */
export class RankLoop {
  readonly #ports: RankLoopPorts
  readonly #links = new LinkTable()
  #replica: Replica | null = null
  #ring: Ring | null = null
  #generation = -1
  /** Generations below this one are void. */
  #floor = 0
  #waiting: AbortController | null = null
  readonly #blobs = new Map<string, Deferred<Uint8Array<ArrayBuffer>>>()
  #tail: Promise<void> = Promise.resolve()
  #closed = false

  constructor(ports: RankLoopPorts) {
    this.#ports = ports
  }

  /** The link to a ring neighbour, as soon as it exists; it may open later. */
  attachLink(generation: number, peer: string, link: Link): void {
    if (generation < this.#floor || this.#closed) return link.close('a newer generation has started')
    this.#links.add(generation, peer, link)
  }

  receiveBlob(name: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.#blob(name).resolve(bytes)
  }

  handle(message: ToRank): void {
    if (message.type === 'abort') return this.#void(message.generation + 1, message.cause)
    if (message.type === 'form') this.#void(message.generation, 'a newer generation has started')
    this.#tail = this.#tail.then(() => this.#run(message)).catch((cause: unknown) => this.#report(message, cause))
  }

  /** Resolves when everything received so far is done. */
  settled(): Promise<void> {
    return this.#tail
  }

  close(cause: string): void {
    this.#closed = true
    this.#void(Number.POSITIVE_INFINITY, cause)
    this.#links.closeBelow(Number.POSITIVE_INFINITY)
    this.#replica?.close()
    this.#replica = null
  }

  #void(floor: number, cause: string): void {
    if (floor <= this.#floor) return
    this.#floor = floor
    if (this.#generation < floor) {
      this.#ring?.abort(cause)
      this.#waiting?.abort(new Error(cause))
    }
    this.#links.closeBelow(floor)
  }

  async #run(message: ToRank): Promise<void> {
    if (this.#closed) return
    switch (message.type) {
      case 'prepare':
        return this.#prepare(message)
      case 'form':
        return this.#form(message.generation, message.members)
      case 'sync':
        return this.#sync(message.generation, message.source)
      case 'plan':
        return this.#update(message.plan)
      case 'evaluate':
        return this.#evaluate(message)
      case 'generate': {
        const ids = await this.#require().generate(message)
        return this.#ports.emit({ type: 'generated', id: message.id, ids })
      }
      case 'export': {
        const bytes = await this.#require().exportModel()
        return this.#ports.emit({ type: 'exported', id: message.id, bytes: bytes.byteLength }, { name: 'model', bytes })
      }
      case 'checkpoint':
        return this.#checkpoint(message)
      case 'admitted':
      case 'refused':
      case 'pause':
      case 'abort':
      case 'finish':
        return
      default:
        message satisfies never
    }
  }

  async #prepare(message: Extract<ToRank, { type: 'prepare' }>): Promise<void> {
    this.#replica?.close()
    this.#replica = null
    const { from } = message.initial
    const corpus = await this.#take('corpus')
    const model = from === 'seed' ? null : await this.#take('model')
    const optimizer = from === 'checkpoint' ? await this.#take('optimizer') : null
    this.#replica = await this.#ports.prepare(message, { corpus, model, optimizer })
    this.#ports.emit({ type: 'prepared', run: message.run })
  }

  #blob(name: string): Deferred<Uint8Array<ArrayBuffer>> {
    const known = this.#blobs.get(name) ?? deferred<Uint8Array<ArrayBuffer>>()
    this.#blobs.set(name, known)
    return known
  }

  /** Waits for a blob; the next one of its name is another. */
  async #take(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#blob(name).promise
    this.#blobs.delete(name)
    return bytes
  }

  async #form(generation: number, members: readonly Member[]): Promise<void> {
    if (generation < this.#floor) return
    const replica = this.#require()
    const rank = members.findIndex((member) => member.peer === this.#ports.peer)
    if (rank < 0) return
    this.#ring?.abort('a newer generation has started')
    this.#ring = null
    this.#generation = generation
    this.#waiting = new AbortController()
    const worldSize = members.length
    const peerAt = (index: number) => members[(index + worldSize) % worldSize]?.peer ?? ''
    const [next, previous] =
      worldSize === 1 ? [null, null] : await Promise.all([peerAt(rank + 1), peerAt(rank - 1)].map((peer) => this.#links.opened(generation, peer, this.#waiting?.signal)))
    this.#ring = createRing({ rank, worldSize, generation, next: next ?? null, previous: previous ?? null, deadlineMs: replica.ringDeadlineMs })
    this.#ring.onFailure = (cause) => this.#ringFailed(generation, cause)
    this.#ports.emit({ type: 'formed', generation, update: replica.nextUpdate, stateHash: await replica.stateHash() })
  }

  async #sync(generation: number, source: number): Promise<void> {
    if (generation < this.#floor || !this.#ring) return
    const replica = this.#require()
    await replica.broadcastState(this.#ring, source)
    this.#ports.emit({ type: 'synced', generation, update: replica.nextUpdate, stateHash: await replica.stateHash() })
  }

  async #update(plan: Extract<ToRank, { type: 'plan' }>['plan']): Promise<void> {
    if (plan.generation < this.#floor || !this.#ring) return
    this.#ports.emit({ type: 'report', report: await this.#require().update(plan, this.#ring) })
  }

  async #evaluate(message: Extract<ToRank, { type: 'evaluate' }>): Promise<void> {
    if (message.generation < this.#floor) return
    const { lossSum, items } = await this.#require().evaluate(message.microBatches)
    this.#ports.emit({ type: 'evaluated', id: message.id, lossSum, items })
  }

  /** Others wait at the next sum for no longer than the copy takes: the bytes leave while this rank computes on. */
  async #checkpoint({ generation, id, committed }: Extract<ToRank, { type: 'checkpoint' }>): Promise<void> {
    const replica = this.#require()
    if (generation < this.#floor || replica.nextUpdate !== id) return // the plan before it is void, and so is this
    if (committed !== null && committed !== replica.committed) return this.#ports.emit({ type: 'checkpointed', id, committed: replica.committed, taken: false })
    const { model, optimizer } = await replica.checkpoint()
    const blobs = [
      { name: 'checkpoint-model', bytes: model },
      { name: 'checkpoint-optimizer', bytes: optimizer },
    ]
    this.#ports.emit({ type: 'checkpointed', id, committed: replica.committed, taken: true }, ...blobs)
  }

  #require(): Replica {
    if (!this.#replica) throw new Error('Cannot compute: no run is prepared on this rank')
    return this.#replica
  }

  /** M7: a broken ring is told once; the coordinator answers with a new generation. */
  #ringFailed(generation: number, cause: Error): void {
    if (generation < this.#floor) return
    this.#void(generation + 1, cause.message)
    this.#ports.emit({ type: 'failed', generation, update: this.#replica?.nextUpdate ?? null, cause: cause.message, fatal: false })
  }

  #report(message: ToRank, cause: unknown): void {
    const generation = message.type === 'plan' ? message.plan.generation : 'generation' in message ? message.generation : null
    if (this.#closed || (generation !== null && generation < this.#floor)) return
    const update = message.type === 'plan' ? message.plan.update : null
    const text = cause instanceof Error ? cause.message : String(cause)
    const fatal = this.#ring === null || !this.#ring.failed
    this.#ports.emit({ type: 'failed', generation, update, cause: text, fatal: fatal && message.type !== 'form' })
  }
}
