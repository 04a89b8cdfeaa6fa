import { Storage } from './storage.ts'

/** Buffer sizes are rounded up to this, so that near-equal shapes share buffers. */
const GRANULE_BYTES = 256

export interface PoolCounts {
  /** Buffers ever created. */
  created: number
  /** Bytes of all live buffers, idle ones included. */
  bytes: number
  peakBytes: number
}

/**
 * Whole GPU buffers by size, oldest first reused, whatever the order in which they came back: the same sequence of allocations
 * then gets the same buffers in every micro-batch, so bind groups can be cached and a steady-state update creates nothing.
 */
export class BufferPool {
  readonly counts: PoolCounts = { created: 0, bytes: 0, peakBytes: 0 }
  readonly #device: GPUDevice
  readonly #usage: GPUBufferUsageFlags
  readonly #label: string
  readonly #nextId: () => number
  readonly #idle = new Map<number, Storage[]>()
  readonly #all = new Set<GPUBuffer>()

  constructor(device: GPUDevice, usage: GPUBufferUsageFlags, label: string, nextId: () => number) {
    this.#device = device
    this.#usage = usage
    this.#label = label
    this.#nextId = nextId
  }

  /** A range of at least `bytes`; its content is whatever was there. */
  take(bytes: number): Storage {
    const size = Math.max(GRANULE_BYTES, Math.ceil(bytes / GRANULE_BYTES) * GRANULE_BYTES)
    const idle = this.#idle.get(size)?.pop()
    if (idle) return new Storage(idle.buffer, idle.bufferId, 0, size, (freed) => this.#give(freed))
    const buffer = this.#device.createBuffer({ size, usage: this.#usage, label: this.#label })
    this.#all.add(buffer)
    this.counts.created++
    this.counts.bytes += size
    this.counts.peakBytes = Math.max(this.counts.peakBytes, this.counts.bytes)
    return new Storage(buffer, this.#nextId(), 0, size, (freed) => this.#give(freed))
  }

  #give(storage: Storage): void {
    const list = this.#idle.get(storage.bytes)
    if (!list) return void this.#idle.set(storage.bytes, [storage])
    // Kept from newest to oldest, so that `take` pops the oldest.
    let at = list.length
    while (at > 0 && (list[at - 1]?.bufferId ?? 0) < storage.bufferId) at--
    list.splice(at, 0, storage)
  }

  /** Destroys the idle buffers, for a change of shapes. */
  trim(): void {
    for (const list of this.#idle.values())
      for (const { buffer, bytes } of list) {
        buffer.destroy()
        this.#all.delete(buffer)
        this.counts.bytes -= bytes
      }
    this.#idle.clear()
  }

  close(): void {
    for (const buffer of this.#all) buffer.destroy()
    this.#all.clear()
    this.#idle.clear()
    this.counts.bytes = 0
  }
}
