import type { Member } from '../protocol/room-messages.ts'
import { cutIntoMicroBatches, dealMicroBatches } from './planner.ts'

type Dealt = readonly (readonly (readonly number[])[])[]

interface Open {
  readonly samples: readonly number[]
  readonly rows: number
  waiting: Set<string>
  lossSum: number
  items: number
}

/** Evaluations under way: dealt over the ranks, summed, and dealt again when a generation ends before all answered. */
export class EvaluationBook {
  readonly #open = new Map<number, Open>()
  readonly #done: (update: number, lossSum: number, items: number) => void

  constructor(done: (update: number, lossSum: number, items: number) => void) {
    this.#done = done
  }

  get settled(): boolean {
    return this.#open.size === 0
  }

  /** @returns the micro-batches by rank, or null when there is nothing to evaluate on. */
  open(update: number, members: readonly Member[], samples: readonly number[], rows: number): Dealt | null {
    if (samples.length === 0) return null
    this.#open.set(update, { samples, rows, waiting: new Set(members.map((member) => member.peer)), lossSum: 0, items: 0 })
    return dealMicroBatches(cutIntoMicroBatches(samples, rows), members.length, [])
  }

  /** Deals what is still open to the members of a new generation. */
  restart(members: readonly Member[]): { readonly id: number; readonly microBatches: Dealt }[] {
    return [...this.#open].map(([id, open]) => {
      open.waiting = new Set(members.map((member) => member.peer))
      open.lossSum = 0
      open.items = 0
      return { id, microBatches: dealMicroBatches(cutIntoMicroBatches(open.samples, open.rows), members.length, []) }
    })
  }

  hear(id: number, peer: string, lossSum: number, items: number): void {
    const open = this.#open.get(id)
    if (!open?.waiting.delete(peer)) return
    open.lossSum += lossSum
    open.items += items
    if (open.waiting.size > 0) return
    this.#open.delete(id)
    this.#done(id, open.lossSum, open.items)
  }
}
