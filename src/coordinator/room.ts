import type { FromRank, ToRank } from '../protocol/room-messages.ts'
import { parseFromRank } from '../protocol/parse-messages.ts'
import { type OpenedPeer, openPeer } from '../transport/peer-connection.ts'
import type { Presence, Signalling } from '../transport/signalling.ts'

/** The coordinator's end of one rank's control connection. */
export interface RankPort {
  readonly peer: string
  send(message: ToRank): void
  sendBlob(name: string, bytes: Uint8Array, onProgress: (done: number) => void): Promise<void>
  /** Lets what is queued leave, then closes. */
  close(): void
}

export interface RoomListener {
  /** A rank was seen; its control connection is being set up. */
  appeared(peer: string, name: string): void
  connected(port: RankPort): void
  message(peer: string, message: FromRank): void
  blob(peer: string, name: string, bytes: Uint8Array<ArrayBuffer>): void
  gone(peer: string, cause: string): void
  /** Something did not parse and was dropped (J6). */
  dropped(peer: string): void
}

export interface RoomSettings {
  readonly signalling: Signalling
  readonly self: string
  readonly iceServers: readonly RTCIceServer[]
  readonly connectDeadlineMs: number
  /** Largest blob that a rank may send: an exported model. */
  readonly maxBlobBytes: number
}

/** A closed control connection before the broker says so is a leave only after this: a reload closes it first. */
interface Guest {
  readonly session: string
  readonly opened: OpenedPeer
}

/**
 * Who is in the room: watches presence, opens one control connection to each rank, passes parsed messages on.
 * The rank opens the connection (it is the one that arrives); the coordinator answers.
 */
export class CoordinatorRoom {
  readonly #settings: RoomSettings
  readonly #listener: RoomListener
  readonly #guests = new Map<string, Guest>()

  constructor(settings: RoomSettings, listener: RoomListener) {
    this.#settings = settings
    this.#listener = listener
    settings.signalling.onPeer = (peer, presence) => this.#presence(peer, presence)
  }

  close(): void {
    for (const { opened } of this.#guests.values()) opened.close()
    this.#guests.clear()
    this.#settings.signalling.close()
  }

  #presence(peer: string, presence: Presence | null): void {
    const known = this.#guests.get(peer)
    if (presence === null) {
      // The broker's word alone is no leave: a page that is busy loses it while its data link lives (M2).
      if (known && !known.opened.control.open) this.#remove(peer, 'its tab is gone')
      return
    }
    if (presence.role !== 'rank' || known?.session === presence.session) return
    if (known) this.#remove(peer, 'its tab was reloaded')
    this.#connect(peer, presence)
  }

  #connect(peer: string, presence: Presence): void {
    const { signalling, iceServers, connectDeadlineMs, maxBlobBytes } = this.#settings
    this.#listener.appeared(peer, presence.name)
    const opened = openPeer({ signalling, remote: peer, initiator: false, session: presence.session, iceServers, connectDeadlineMs, maxBlobBytes })
    const guest: Guest = { session: presence.session, opened }
    this.#guests.set(peer, guest)
    const { control } = opened
    control.onMessage = (raw) => {
      const message = parseFromRank(raw)
      if (message) this.#listener.message(peer, message)
      else this.#listener.dropped(peer)
    }
    control.onBlob = (name, bytes) => this.#listener.blob(peer, name, bytes)
    control.onClose = (cause) => {
      if (this.#guests.get(peer) === guest) this.#remove(peer, cause.message)
    }
    opened.ready.then(
      () => this.#listener.connected(this.#port(peer, opened)),
      (cause: unknown) => {
        if (this.#guests.get(peer) === guest) this.#remove(peer, cause instanceof Error ? cause.message : String(cause))
      },
    )
  }

  #port(peer: string, opened: OpenedPeer): RankPort {
    const { control } = opened
    return {
      peer,
      send: (message) => {
        if (control.open) control.send(message)
      },
      sendBlob: (name, bytes, onProgress) => control.sendBlob(name, bytes, onProgress),
      close: () => this.#remove(peer, 'closed by the coordinator'),
    }
  }

  #remove(peer: string, cause: string): void {
    const guest = this.#guests.get(peer)
    this.#guests.delete(peer)
    guest?.opened.close()
    this.#listener.gone(peer, cause)
  }
}
