import { type Deferred, deferred } from '../base/deferred.ts'
import type { Link } from '../transport/link.ts'

interface Slot {
  readonly link: Deferred<Link>
  held: Link | null
}

/** Links by generation and neighbour: the page hands them over when it can, the loop waits until they are open. */
export class LinkTable {
  readonly #byGeneration = new Map<number, Map<string, Slot>>()

  add(generation: number, peer: string, link: Link): void {
    const slot = this.#slot(generation, peer)
    slot.held?.close('replaced by a newer link')
    slot.held = link
    slot.link.resolve(link)
  }

  /** @throws when aborted, or when the link closes before it opens. */
  async opened(generation: number, peer: string, signal?: AbortSignal): Promise<Link> {
    const aborted = new Promise<never>((_, reject) => {
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    const link = await Promise.race([this.#slot(generation, peer).link.promise, aborted])
    await Promise.race([link.drained(signal), aborted])
    return link
  }

  closeBelow(floor: number): void {
    for (const [generation, slots] of this.#byGeneration) {
      if (generation >= floor) continue
      for (const { held } of slots.values()) held?.close('its generation is over')
      this.#byGeneration.delete(generation)
    }
  }

  #slot(generation: number, peer: string): Slot {
    const slots = this.#byGeneration.get(generation) ?? new Map<string, Slot>()
    this.#byGeneration.set(generation, slots)
    const slot = slots.get(peer) ?? { link: deferred<Link>(), held: null }
    slots.set(peer, slot)
    return slot
  }
}
