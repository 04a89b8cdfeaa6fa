/** The batch that a loop is at. */
export interface BatchPlace {
  /** Samples of this rank's batch that count; the rest stands in for samples that are not there. */
  readonly real: number
  /** Samples of the batch, stand-ins included. */
  readonly rows: number
  /** The last of its epoch, on all ranks. */
  readonly last: boolean
}

/** Loops over prepared loaders, the innermost last. */
export class BatchCursor {
  #open: { place: BatchPlace | null }[] = []

  get place(): BatchPlace | null {
    return this.#open.at(-1)?.place ?? null
  }

  /** Begins a loop. */
  enter(): { place: BatchPlace | null; [Symbol.dispose](): void } {
    const loop = {
      place: null,
      [Symbol.dispose]: () => {
        this.#open = this.#open.filter((other) => other !== loop)
      },
    }
    this.#open.push(loop)
    return loop
  }
}
