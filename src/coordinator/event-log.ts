import { type ReadonlySignal, signal } from '@preact/signals'
import type { RoomEvent } from './session-view.ts'

/** The page lists the last events only. */
const MAX_EVENTS = 200

/** What happened in the room, newest last. */
export class EventLog {
  readonly #events = signal<readonly RoomEvent[]>([])
  readonly #onEvent: (event: RoomEvent) => void

  constructor(onEvent: (event: RoomEvent) => void) {
    this.#onEvent = onEvent
  }

  get events(): ReadonlySignal<readonly RoomEvent[]> {
    return this.#events
  }

  add(level: RoomEvent['level'], text: string): void {
    const event = { at: Date.now(), level, text }
    this.#events.value = [...this.#events.value, event].slice(-MAX_EVENTS)
    this.#onEvent(event)
  }
}
