import type { RoomCrypto } from './room-crypto.ts'
import { type Presence, type Signalling, parsePresence } from './signalling.ts'

/** A medium that carries sealed bytes: a broker or a broadcast channel. It learns peer ids and sizes, nothing else. */
export interface Carrier {
  /** Shows `sealed` as this peer's presence until `close`. */
  show(sealed: Uint8Array<ArrayBuffer>): Promise<void>
  send(to: string, sealed: Uint8Array<ArrayBuffer>): void
  onPresence: ((peer: string, sealed: Uint8Array<ArrayBuffer> | null) => void) | null
  onMessage: ((from: string, sealed: Uint8Array<ArrayBuffer>) => void) | null
  close(): void
}

/** Peers stand in topics, and everything that names one was written by a stranger until it is opened. */
const PEER_PATTERN = /^[A-Za-z0-9-]{1,64}$/

/** Signalling over a carrier with every payload sealed (J3); what does not open is dropped and counted (J6). */
export function sealedSignalling(self: string, room: string, crypto: RoomCrypto, carrier: Carrier): Signalling & { readonly dropped: number } {
  return new SealedSignalling(self, room, crypto, carrier)
}

class SealedSignalling implements Signalling {
  dropped = 0
  readonly self: string
  onPeer: Signalling['onPeer'] = null
  onMessage: Signalling['onMessage'] = null
  readonly #room: string
  readonly #crypto: RoomCrypto
  readonly #carrier: Carrier
  /** Sealing and opening are asynchronous; these keep the order. */
  #outgoing: Promise<void> = Promise.resolve()
  #incoming: Promise<void> = Promise.resolve()

  constructor(self: string, room: string, crypto: RoomCrypto, carrier: Carrier) {
    this.self = self
    this.#room = room
    this.#crypto = crypto
    this.#carrier = carrier
    carrier.onPresence = (peer, sealed) => this.#receive(peer, () => this.#presence(peer, sealed))
    carrier.onMessage = (from, sealed) => this.#receive(from, () => this.#message(from, sealed))
  }

  async join(presence: Presence): Promise<void> {
    await this.#carrier.show(await this.#crypto.seal(presence, this.#context('presence', this.self)))
  }

  send(to: string, payload: unknown): void {
    this.#outgoing = this.#outgoing.then(async () => this.#carrier.send(to, await this.#crypto.seal(payload, this.#context(this.self, to)))).catch(() => {}) // the carrier has closed; what cannot be sent is lost, as on any network
  }

  close(): void {
    this.#carrier.close()
  }

  async #presence(peer: string, sealed: Uint8Array<ArrayBuffer> | null): Promise<void> {
    if (sealed === null) return this.onPeer?.(peer, null)
    const presence = parsePresence(await this.#crypto.open(sealed, this.#context('presence', peer)))
    if (presence) this.onPeer?.(peer, presence)
    else this.dropped++
  }

  async #message(from: string, sealed: Uint8Array<ArrayBuffer>): Promise<void> {
    const payload = await this.#crypto.open(sealed, this.#context(from, this.self))
    if (payload === undefined) this.dropped++
    else this.onMessage?.(from, payload)
  }

  #receive(peer: string, work: () => Promise<void>): void {
    if (peer === this.self) return
    if (!PEER_PATTERN.test(peer)) {
      this.dropped++
      return
    }
    // One message that upsets its reader must not end the reading of all others.
    this.#incoming = this.#incoming.then(work).catch(() => {
      this.dropped++
    })
  }

  #context(from: string, to: string): string {
    return `${this.#room} ${from} ${to}`
  }
}
