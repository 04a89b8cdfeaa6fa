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
    const before = latest(by)
    if (presence) by.set(medium, presence)
    else by.delete(medium)
    if (by.size > 0) this.#seen.set(peer, by)
    else this.#seen.delete(peer)
    const after = presence ?? latest(by)
    if (after?.session !== before?.session) this.onPeer?.(peer, after)
    // A goodbye on one medium is a goodbye, though another has not heard it yet; the listener decides what it is worth.
    else if (presence === null && before) this.onPeer?.(peer, null)
  }
}

function latest(by: ReadonlyMap<Signalling, Presence>): Presence | null {
  return [...by.values()].at(-1) ?? null
}
