import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { parseFromRank, parseToRank } from '../../protocol/parse-messages.ts'
import type { FromRank, Member, ToRank } from '../../protocol/room-messages.ts'
import { loopbackPair } from '../../transport/loopback.ts'
import { RankLoop } from '../rank-loop.ts'
import { type Replica, type RunFiles, createReplica } from '../replica.ts'
import type { NamedBlob } from '../worker-bridge.ts'

/** What a coordinator hears. */
export interface LoopbackCoordinator {
  receive(peer: string, message: FromRank): void
  blob(peer: string, name: string, bytes: Uint8Array<ArrayBuffer>): void
}

/** Ranks in one process: real loops and replicas on Dawn, loopback links, messages as JSON through the doors. */
export class LoopbackRanks {
  readonly loops = new Map<string, RankLoop>()
  readonly #coordinator: LoopbackCoordinator
  readonly #halves = new Map<string, ReturnType<typeof loopbackPair>>()

  constructor(coordinator: LoopbackCoordinator) {
    this.#coordinator = coordinator
  }

  /** A rank's port, as the coordinator has it. */
  add(peer: string): { readonly peer: string; send(message: ToRank): void; sendBlob(name: string, bytes: Uint8Array): Promise<void>; close(): void } {
    const loop = new RankLoop({ peer, emit: (message, ...blobs) => this.#emit(peer, message, blobs), prepare: async (message, files) => prepare(message, files) })
    this.loops.set(peer, loop)
    return { peer, send: (message) => this.#send(peer, loop, message), sendBlob: async (name, bytes) => loop.receiveBlob(name, bytes.slice()), close: () => {} }
  }

  close(): void {
    for (const loop of this.loops.values()) loop.close('the test is over')
  }

  #emit(peer: string, message: FromRank, blobs: readonly NamedBlob[]): void {
    const parsed = parseFromRank(JSON.parse(JSON.stringify(message)))
    if (!parsed) throw new Error(`a rank sent what the door refuses: ${JSON.stringify(message)}`)
    setTimeout(() => this.#coordinator.receive(peer, parsed), 0)
    for (const { name, bytes } of blobs) setTimeout(() => this.#coordinator.blob(peer, name, bytes), 1)
  }

  #send(peer: string, loop: RankLoop, message: ToRank): void {
    const parsed = parseToRank(JSON.parse(JSON.stringify(message)))
    if (!parsed) throw new Error(`the coordinator sent what the door refuses: ${JSON.stringify(message)}`)
    setTimeout(() => {
      if (parsed.type === 'form') this.#connect(peer, loop, parsed.generation, parsed.members)
      loop.handle(parsed)
    }, 0)
  }

  #connect(peer: string, loop: RankLoop, generation: number, members: readonly Member[]): void {
    const mine = members.findIndex((member) => member.peer === peer)
    const neighbours = new Set([members[(mine + 1) % members.length]?.peer, members[(mine + members.length - 1) % members.length]?.peer])
    for (const other of neighbours) {
      if (!other || other === peer) continue
      const key = `${generation} ${[peer, other].sort().join(' ')}`
      const pair = this.#halves.get(key) ?? loopbackPair([peer, other])
      this.#halves.set(key, pair)
      loop.attachLink(generation, other, peer < other ? pair[0] : pair[1])
    }
  }
}

async function prepare(message: Extract<ToRank, { type: 'prepare' }>, files: RunFiles): Promise<Replica> {
  return createReplica(await openTestEngine('lane'), message, files, () => {})
}
