import type { Presence, Signalling } from './signalling.ts'

/**
 * Several media as one: a peer is there while any of them shows it, and is written to through the first that does. The media
 * are given in order of preference.
 */
export function compositeSignalling(self: string, media: readonly Signalling[]): Signalling {
  return new CompositeSignalling(self, media)
}

class CompositeSignalling implements Signalling {
  readonly self: string
  onPeer: Signalling['onPeer'] = null
  onMessage: Signalling['onMessage'] = null
  readonly #media: readonly Signalling[]
  readonly #seen = new Map<string, Map<Signalling, Presence>>()

  constructor(self: string, media: readonly Signalling[]) {
    this.self = self
    this.#media = media
    for (const medium of media) {
      medium.onPeer = (peer, presence) => this.#hear(medium, peer, presence)
      medium.onMessage = (from, payload) => this.onMessage?.(from, payload)
    }
  }

  async join(presence: Presence): Promise<void> {
    await Promise.all(this.#media.map((medium) => medium.join(presence)))
  }

  send(to: string, payload: unknown): void {
    const through = this.#media.find((medium) => this.#seen.get(to)?.has(medium)) ?? this.#media.at(-1)
    through?.send(to, payload)
  }

  close(): void {
    for (const medium of this.#media) medium.close()
  }

  #hear(medium: Signalling, peer: string, presence: Presence | null): void {
    const by = this.#seen.get(peer) ?? new Map<Signalling, Presence>()
    const before = [...by.values()].at(-1) ?? null
    if (presence === null) {
      // A goodbye on one medium is a goodbye, though another has not heard it yet; the listener decides what it is worth.
      // Everything is forgotten, so that whoever shows up again is news again.
      this.#seen.delete(peer)
      if (before) this.onPeer?.(peer, null)
      return
    }
    // The newest word comes last.
    by.delete(medium)
    by.set(medium, presence)
    this.#seen.set(peer, by)
    if (presence.session !== before?.session) this.onPeer?.(peer, presence)
  }
}
