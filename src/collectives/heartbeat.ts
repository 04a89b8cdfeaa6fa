/** M2. Counted in beats of this side's own timer: time in which this side itself stood still is not held against a neighbour. */
export const BEAT_MS = 250
/** 0.5 s of silence: ask. */
const SUSPECT_BEATS = 2
/**
 * 3 s more without an answer: gone. A data channel that retransmits under load was seen to stand still for 2.5 s (`npm run bench ring`,
 * raw rounds), and a neighbour given up for that is an update done twice; a frozen tab is still noticed in under 4 s.
 */
const GONE_BEATS = 12

export interface HeartbeatPorts {
  /** Sends a sign of life, or a question that wants one. */
  send(kind: 'alive' | 'probe'): void
  /** Bytes sent on this link so far: data are a sign of life as well. */
  bytesSent(): number
  lost(reason: string): void
}

/**
 * Watches one neighbour. It is judged only once it has been heard: before that it may still be connecting to its other
 * neighbour, which the barrier's own deadline covers (M1).
 */
export class Heartbeat {
  readonly #ports: HeartbeatPorts
  #silentBeats = 0
  #heard = false
  #sentBefore = 0

  constructor(ports: HeartbeatPorts) {
    this.#ports = ports
  }

  heard(): void {
    this.#heard = true
    this.#silentBeats = 0
  }

  beat(): void {
    if (this.#ports.bytesSent() === this.#sentBefore) this.#ports.send('alive')
    this.#sentBefore = this.#ports.bytesSent()
    if (!this.#heard) return
    this.#silentBeats++
    if (this.#silentBeats === SUSPECT_BEATS) this.#ports.send('probe')
    if (this.#silentBeats === SUSPECT_BEATS + GONE_BEATS) {
      this.#ports.lost(`silent for ${(((SUSPECT_BEATS + GONE_BEATS) * BEAT_MS) / 1000).toFixed(1)} s, also when asked`)
    }
  }
}
