import type { Member } from '../protocol/room-messages.ts'
import { EvaluationBook } from './evaluation-book.ts'
import type { RunListener, RunRank, RunSettings } from './run-ports.ts'

/** The generation that is asked. */
export interface Asked {
  readonly generation: number
  readonly members: readonly Member[]
  readonly ranks: readonly RunRank[]
}

/** Work between updates: evaluations, dealt over all ranks, and generated texts, written by the last one. Lost work is asked for again. */
export class Interludes {
  readonly #settings: RunSettings
  readonly #listener: RunListener
  readonly #evaluations: EvaluationBook
  #begun = false
  /** Windows after which a text was asked for that has not come. */
  readonly #writing = new Set<number>()

  constructor(settings: RunSettings, listener: RunListener) {
    this.#settings = settings
    this.#listener = listener
    this.#evaluations = new EvaluationBook((update, lossSum, items) => listener.evaluated(update, lossSum, items))
  }

  get settled(): boolean {
    return this.#evaluations.settled && this.#writing.size === 0
  }

  /** Whether the next window may be planned. */
  get allow(): boolean {
    return !this.#settings.waitsForEvaluations || this.#evaluations.settled
  }

  /** Asks for what is due once `done` windows are planned. */
  after(done: number, asked: Asked): void {
    const { evalEvery, sampleEvery, totalUpdates } = this.#settings
    const due = (every: number): boolean => every > 0 && (done % every === 0 || done === totalUpdates)
    if (due(evalEvery)) this.#evaluate(done, asked)
    if (due(sampleEvery)) this.#write(done, asked)
  }

  /** A generation starts after `done` windows; the first one of a run may begin with an evaluation. */
  begin(done: number, asked: Asked): void {
    if (!this.#begun && done === 0 && this.#settings.evaluatesFirst) this.#evaluate(0, asked)
    else this.#restart(asked)
    this.#begun = true
  }

  /** A new generation: what the old one left undone is asked for again. */
  #restart(asked: Asked): void {
    for (const { id, microBatches } of this.#evaluations.restart(asked.members)) this.#send(id, microBatches, asked)
    for (const window of this.#writing) this.#write(window, asked)
  }

  evaluated(id: number, peer: string, lossSum: number, items: number): void {
    this.#evaluations.hear(id, peer, lossSum, items)
  }

  generated(id: number, ids: readonly number[]): void {
    if (this.#writing.delete(id)) this.#listener.generated(id, ids)
  }

  #evaluate(update: number, asked: Asked): void {
    const { evalSamples, planner } = this.#settings
    const microBatches = this.#evaluations.open(update, asked.members, evalSamples, planner.perDeviceBatchSize)
    if (microBatches) this.#send(update, microBatches, asked)
  }

  #send(id: number, microBatches: readonly (readonly (readonly number[])[])[], { generation, ranks }: Asked): void {
    for (const [rank, to] of ranks.entries()) to.send({ type: 'evaluate', generation, id, microBatches: microBatches[rank] ?? [] })
  }

  #write(update: number, { ranks }: Asked): void {
    this.#writing.add(update)
    ranks.at(-1)?.send({ type: 'generate', id: update, seed: update, ...this.#settings.generate })
  }
}
