import type { Member } from '../protocol/room-messages.ts'
import { canTransferChannels, type OpenedPeer, openPeer } from '../transport/peer-connection.ts'
import type { Signalling } from '../transport/signalling.ts'

export interface NeighbourPorts {
  /** Hands the bulk channel, just created, to the Worker. */
  attach(generation: number, member: Member, body: RTCDataChannel | MessagePort): void
  failed(generation: number, cause: string): void
}

/**
 * The connections to the two ring neighbours of each generation. They are made anew for every generation: it takes tens of
 * milliseconds and no two ranks can disagree on whether an old one still works.
 */
export class NeighbourLinks {
  readonly #signalling: Signalling
  readonly #self: string
  readonly #connectDeadlineMs: number
  readonly #ports: NeighbourPorts
  readonly #transferable = canTransferChannels()
  readonly #open = new Map<number, OpenedPeer[]>()

  constructor(signalling: Signalling, self: string, connectDeadlineMs: number, ports: NeighbourPorts) {
    this.#signalling = signalling
    this.#self = self
    this.#connectDeadlineMs = connectDeadlineMs
    this.#ports = ports
  }

  form(generation: number, members: readonly Member[]): void {
    this.closeBelow(generation)
    const rank = members.findIndex((member) => member.peer === this.#self)
    if (rank < 0 || members.length < 2) return
    const around = [members[(rank + 1) % members.length], members[(rank + members.length - 1) % members.length]]
    const neighbours = new Map(around.flatMap((member) => (member ? [[member.peer, member]] : [])))
    this.#open.set(
      generation,
      [...neighbours.values()].map((member) => this.#connect(generation, member)),
    )
  }

  closeBelow(floor: number): void {
    for (const [generation, peers] of this.#open) {
      if (generation >= floor) continue
      for (const peer of peers) peer.close()
      this.#open.delete(generation)
    }
  }

  #connect(generation: number, member: Member): OpenedPeer {
    const opened = openPeer({
      signalling: this.#signalling,
      remote: member.peer,
      initiator: this.#self < member.peer,
      session: `generation ${generation}`,
      iceServers: [],
      connectDeadlineMs: this.#connectDeadlineMs,
      maxBlobBytes: 0,
      bulk: { transferable: this.#transferable, take: (body) => this.#ports.attach(generation, member, body) },
    })
    opened.ready.catch((cause: unknown) => {
      if (this.#open.has(generation)) this.#ports.failed(generation, `No connection to ${member.name}: ${cause instanceof Error ? cause.message : String(cause)}`)
    })
    return opened
  }
}
