import type { UpdateReport } from '../protocol/update-plan.ts'
import type { Asked } from './interludes.ts'
import type { RunListener, RunSettings, SaveSettings } from './run-ports.ts'

interface Pending {
  readonly window: number
  readonly committed: number | null
  /** Who was asked. */
  readonly peer: string
  /** `coming`: the rank has taken its state, whose bytes are on their way to where checkpoints are kept. */
  stage: 'asked' | 'coming'
}

/**
 * Checkpoints that the run has asked for, one at a time: the next one is not planned past before this one is kept, so that states do
 * not pile up in memory. One rank is asked, between two updates.
 */
export class CheckpointRequests {
  readonly #settings: SaveSettings
  readonly #listener: Pick<RunListener, 'event'>
  #pending: Pending | null = null
  /** The last window after which a state was asked for, or that the run started from: it need not be asked for again at the end. */
  #last: number
  /** Windows so far that were not stepped, as far as reports tell. */
  #skipped: number

  constructor({ save, initial }: Pick<RunSettings, 'save' | 'initial'>, listener: Pick<RunListener, 'event'>) {
    this.#settings = save
    this.#listener = listener
    const { update, committed } = initial.from === 'checkpoint' ? initial : { update: 0, committed: 0 }
    this.#last = update
    this.#skipped = update - committed
  }

  finished({ update, committed }: UpdateReport): void {
    this.#skipped = update + 1 - committed
  }

  /** Whether the window that makes `done` may be planned: not when it calls for a checkpoint while the one before is on its way. */
  allow(done: number): boolean {
    return this.#pending === null || !this.#due(done)
  }

  /** Asks for what is due once `done` windows are planned. */
  after(done: number, asked: Asked): void {
    // What was planned before may still be skipped: then the rank is not where this wants it, and says so.
    if (this.#due(done)) this.#ask(done, this.#settings.strategy === 'steps' ? done - this.#skipped : null, asked)
  }

  /** At the end of a run of `done` windows. @returns whether a state is still to be waited for. */
  atEnd(done: number, asked: Asked): boolean {
    if (this.#settings.strategy !== 'no' && this.#pending === null && this.#last !== done) this.#ask(done, null, asked)
    return this.#pending !== null
  }

  /** A new generation starts after `done` windows: a state that was asked for and did not come is asked for again, or is past. */
  restart(done: number, asked: Asked): void {
    if (this.#last > done) this.#last = 0
    const pending = this.#pending
    if (pending?.stage !== 'asked') return
    this.#pending = null
    if (pending.window === done) this.#ask(done, pending.committed, asked)
    else if (pending.window < done) this.#listener.event('warning', `The checkpoint after ${pending.window} updates was lost with the rank that had it; the next one replaces it`)
  }

  /** @returns whether the state is coming. */
  answered(peer: string, window: number, taken: boolean): boolean {
    const pending = this.#pending
    if (pending?.window !== window || pending.peer !== peer || pending.stage !== 'asked') return false
    if (taken) pending.stage = 'coming'
    else {
      this.#pending = null
      this.#last = 0
    }
    return taken
  }

  /** What became of the state that was coming; a lost one is asked for again in the next generation. */
  ended(window: number, how: 'done' | 'lost'): void {
    if (this.#pending?.window !== window) return
    if (how === 'lost') this.#pending.stage = 'asked'
    else this.#pending = null
  }

  #due(done: number): boolean {
    const { strategy, every } = this.#settings
    if (strategy === 'no') return false
    if (strategy === 'epoch') return done % every === 0
    return done > this.#skipped && (done - this.#skipped) % every === 0
  }

  #ask(window: number, committed: number | null, { generation, ranks }: Asked): void {
    const [rank] = ranks
    if (!rank) return
    this.#last = window
    this.#pending = { window, committed, peer: rank.peer, stage: 'asked' }
    rank.send({ type: 'checkpoint', generation, id: window, committed })
  }
}
