import type { ParameterSlot } from '../engine/parameters.ts'

export interface BucketOptions {
  /** A bucket closes when another parameter would make it larger. */
  readonly capBytes: number
  /** Cap of the first bucket: a small one starts the ring early, as torch's DDP does. */
  readonly firstCapBytes?: number
}

/** Gradients that travel together: a range of the flat gradient buffer, padding included. */
export interface Bucket {
  /** First element. */
  readonly offset: number
  readonly length: number
  /** Parameters with elements in the range. */
  readonly names: readonly string[]
}

/**
 * Cuts the flat gradients into buckets from the end, where the backward starts. It depends on the model and the options alone:
 * every rank must arrive at the same buckets. A parameter above the cap is spread over several.
 */
export function layOutBuckets(slots: readonly ParameterSlot[], elements: number, options: BucketOptions): Bucket[] {
  const most = elementsOf(options.capBytes)
  const buckets: Bucket[] = []
  let room = Math.min(most, elementsOf(options.firstCapBytes ?? options.capBytes))
  let end = elements
  let names: string[] = []
  const close = (start: number) => {
    if (end > start) buckets.push({ offset: start, length: end - start, names })
    end = start
    names = []
    room = most
  }
  for (let index = slots.length - 1; index >= 0; index--) {
    const slot = slots[index]
    if (!slot) continue
    if (names.length > 0 && end - slot.offset > room) close(slot.offset + paddedLength(slots, index, elements))
    while (end - slot.offset > room) {
      names.push(slot.name)
      close(end - room)
    }
    names.push(slot.name)
  }
  close(0)
  return buckets
}

function paddedLength(slots: readonly ParameterSlot[], index: number, elements: number): number {
  return (slots[index + 1]?.offset ?? elements) - (slots[index]?.offset ?? 0)
}

/** Whole 64-element blocks, at least one. */
function elementsOf(bytes: number): number {
  return Math.max(1, Math.floor(bytes / 256)) * 64
}
