import * as v from 'valibot'
import type { Signalling } from './signalling.ts'

/** Offers, answers and candidates of connections, told apart by peer and session. */
export interface Offers {
  send(to: string, session: string, signal: unknown): void
  /** @returns a function that stops listening. What came for the session before is delivered at once. */
  listen(from: string, session: string, receive: (signal: ConnectionSignal) => void): () => void
}

/** Signals that come before this side has opened its end are kept, so many and so long. */
const MAX_EARLY = 256
const EARLY_MS = 30_000

const text = v.pipe(v.string(), v.maxLength(2_000))
const candidate = v.object({ candidate: text, sdpMid: v.nullish(text), sdpMLineIndex: v.nullish(v.number()) })
/** What simple-peer says to its counterpart; it would end the connection over anything else. */
const signalSchema = v.variant('type', [
  v.object({ type: v.picklist(['offer', 'answer']), sdp: v.pipe(v.string(), v.maxLength(65_536)) }),
  v.object({ type: v.literal('candidate'), candidate }),
  v.object({ type: v.literal('renegotiate'), renegotiate: v.literal(true) }),
])
const envelope = v.object({ session: v.pipe(v.string(), v.maxLength(200)), signal: signalSchema })

export type ConnectionSignal = v.InferOutput<typeof signalSchema>

/** One dispatcher for each signalling, however many connections use it. */
const dispatchers = new WeakMap<Signalling, Dispatcher>()

export function offersOf(signalling: Signalling): Offers {
  const known = dispatchers.get(signalling)
  if (known) return known
  const made = new Dispatcher(signalling)
  dispatchers.set(signalling, made)
  return made
}

class Dispatcher implements Offers {
  readonly #signalling: Signalling
  readonly #listeners = new Map<string, (signal: ConnectionSignal) => void>()
  #early: { readonly key: string; readonly signal: ConnectionSignal; readonly atMs: number }[] = []

  constructor(signalling: Signalling) {
    this.#signalling = signalling
    signalling.onMessage = (from, payload) => this.#hear(from, payload)
  }

  send(to: string, session: string, signal: unknown): void {
    this.#signalling.send(to, { session, signal })
  }

  listen(from: string, session: string, receive: (signal: ConnectionSignal) => void): () => void {
    const key = `${from} ${session}`
    this.#listeners.set(key, receive)
    const mine = this.#early.filter((early) => early.key === key)
    this.#early = this.#early.filter((early) => early.key !== key)
    for (const { signal } of mine) receive(signal)
    return () => {
      if (this.#listeners.get(key) === receive) this.#listeners.delete(key)
    }
  }

  #hear(from: string, payload: unknown): void {
    const parsed = v.safeParse(envelope, payload)
    if (!parsed.success) return
    const { session, signal } = parsed.output
    const key = `${from} ${session}`
    const listener = this.#listeners.get(key)
    if (listener) return listener(signal)
    const now = performance.now()
    this.#early = [...this.#early.filter(({ atMs }) => now - atMs < EARLY_MS), { key, signal, atMs: now }].slice(-MAX_EARLY)
  }
}
