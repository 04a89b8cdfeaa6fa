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

/** Signalling over a carrier with every payload sealed (J3); what does not open is dropped. */
export function sealedSignalling(self: string, room: string, crypto: RoomCrypto, carrier: Carrier): Signalling {
  return new SealedSignalling(self, room, crypto, carrier)
}

class SealedSignalling implements Signalling {
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
    carrier.onPresence = (peer, sealed) => this.#receive(() => this.#presence(peer, sealed))
    carrier.onMessage = (from, sealed) => this.#receive(() => this.#message(from, sealed))
  }

  async join(presence: Presence): Promise<void> {
    await this.#carrier.show(await this.#crypto.seal(presence, this.#context('presence', this.self)))
  }

  send(to: string, payload: unknown): void {
    this.#outgoing = this.#outgoing.then(async () => {
      this.#carrier.send(to, await this.#crypto.seal(payload, this.#context(this.self, to)))
    })
  }

  close(): void {
    this.#carrier.close()
  }

  async #presence(peer: string, sealed: Uint8Array<ArrayBuffer> | null): Promise<void> {
    if (peer === this.self) return
    if (sealed === null) return this.onPeer?.(peer, null)
    const presence = parsePresence(await this.#crypto.open(sealed, this.#context('presence', peer)))
    if (presence) this.onPeer?.(peer, presence)
  }

  async #message(from: string, sealed: Uint8Array<ArrayBuffer>): Promise<void> {
    const payload = await this.#crypto.open(sealed, this.#context(from, this.self))
    if (payload !== undefined) this.onMessage?.(from, payload)
  }

  #receive(work: () => Promise<void>): void {
    this.#incoming = this.#incoming.then(work)
  }

  #context(from: string, to: string): string {
    return `${this.#room} ${from} ${to}`
  }
}
