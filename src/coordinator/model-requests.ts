import { deferred } from '../base/deferred.ts'
import type { RankPort } from './room.ts'

/** Longest wait for a model to arrive in pieces. */
const DEADLINE_MS = 120_000

/** Models that ranks have been asked for. */
export class ModelRequests {
  readonly #waiting = new Map<string, (bytes: Uint8Array<ArrayBuffer>) => void>()

  arrived(peer: string, bytes: Uint8Array<ArrayBuffer>): void {
    this.#waiting.get(peer)?.(bytes)
  }

  /** @returns a safetensors file. @throws a sentence when it does not come in time. */
  async ask(holder: RankPort, name: string): Promise<Uint8Array<ArrayBuffer>> {
    const arrived = deferred<Uint8Array<ArrayBuffer>>()
    const timer = setTimeout(() => arrived.reject(new Error(`Cannot save: ${name} did not send the model within ${DEADLINE_MS / 1000} s`)), DEADLINE_MS)
    this.#waiting.set(holder.peer, arrived.resolve)
    holder.send({ type: 'export', id: 0 })
    try {
      return await arrived.promise
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(holder.peer)
    }
  }
}
