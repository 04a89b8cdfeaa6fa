import type { Presence, Signalling } from '../signalling.ts'

/** A medium under a test's thumb: it says what the test says, and remembers what was sent. */
export class MemorySignalling implements Signalling {
  onPeer: Signalling['onPeer'] = null
  onMessage: Signalling['onMessage'] = null
  readonly self: string
  readonly sent: { readonly to: string; readonly payload: unknown }[] = []
  joined: Presence | null = null
  closed = false

  constructor(self: string) {
    this.self = self
  }

  join(presence: Presence): Promise<void> {
    this.joined = presence
    return Promise.resolve()
  }

  send(to: string, payload: unknown): void {
    this.sent.push({ to, payload })
  }

  close(): void {
    this.closed = true
  }
}
