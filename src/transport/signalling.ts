import * as v from 'valibot'

/** What a peer says of itself to everyone in the room. */
export interface Presence {
  readonly role: 'coordinator' | 'rank'
  readonly name: string
  /** New for every visit: a page that was reloaded is another session of the same peer. */
  readonly session: string
  readonly build: string
}

/** Who is in the room, and small messages between two of them: presence and connection offers, nothing hot. */
export interface Signalling {
  /** Own peer id. */
  readonly self: string
  /** Shows this peer to the others, now and after every reconnection. */
  join(presence: Presence): Promise<void>
  /** A peer has appeared or changed; null when it is gone. Never told of this peer itself. */
  onPeer: ((peer: string, presence: Presence | null) => void) | null
  send(to: string, payload: unknown): void
  onMessage: ((from: string, payload: unknown) => void) | null
  /** Clears the presence and ends. */
  close(): void
}

const text = v.pipe(v.string(), v.maxLength(200))
const presence = v.object({ role: v.picklist(['coordinator', 'rank']), name: text, session: text, build: text })

/** J6: null for what is no presence. */
export function parsePresence(value: unknown): Presence | null {
  const parsed = v.safeParse(presence, value)
  return parsed.success ? parsed.output : null
}
