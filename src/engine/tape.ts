import { Parameter, type Tensor } from './tensor.ts'

interface Entry {
  readonly inputs: readonly Tensor[]
  readonly output: Tensor
  readonly saved: readonly Tensor[]
  readonly backward: (gradient: Tensor) => void
}

/** Where an op's backward writes an input's gradient. */
export interface GradientTarget {
  readonly tensor: Tensor
  /** Add to what is there instead of overwriting it. */
  readonly accumulate: boolean
}

/**
 * Define-by-run autograd: ops push their backward closure when they run; `backward` runs the closures in reverse.
 * After the closure of the op that made a tensor has run, nothing needs that tensor, its gradient or what the op
 * saved, so their memory is reused by the rest of the backward.
 */
export class Tape {
  #entries: Entry[] = []
  #recording = true

  get recording(): boolean {
    return this.#recording
  }

  /** Runs `body` without recording: for evaluation and generation. */
  withoutGradients<T>(body: () => T): T {
    const before = this.#recording
    this.#recording = false
    try {
      return body()
    } finally {
      this.#recording = before
    }
  }

  /** As `withoutGradients` for what waits: until the result is disposed of. */
  pause(): Disposable {
    const before = this.#recording
    this.#recording = false
    return { [Symbol.dispose]: () => void (this.#recording = before) }
  }

  /**
   * Called by every op after its forward. Marks `output` as needing a gradient when an input does.
   * `saved` are temporaries that only the backward reads; when nothing is recorded they are released at once.
   */
  record(inputs: readonly Tensor[], output: Tensor, saved: readonly Tensor[], backward: (gradient: Tensor) => void): void {
    if (!this.#recording || !inputs.some((input) => input.requiresGrad)) {
      for (const tensor of saved) tensor.release()
      return
    }
    output.requiresGrad = true
    for (const input of inputs) if (input instanceof Parameter) input.pendingUses++
    this.#entries.push({ inputs, output, saved, backward })
  }

  /** The place for the gradient of `x`, or null when none is wanted. */
  target(x: Tensor): GradientTarget | null {
    if (!x.requiresGrad) return null
    if (x instanceof Parameter) return { tensor: x.gradient, accumulate: true }
    if (x.grad) return { tensor: x.grad, accumulate: true }
    x.grad = x.engine.empty(x.shape)
    return { tensor: x.grad, accumulate: false }
  }

  /**
   * Hands the whole gradient of an output on to an input that enters by addition. Without a copy when `x` has none yet:
   * the caller must have finished reading `gradient`, which later ops may add to. Returns false when it must be added.
   */
  adopt(x: Tensor, gradient: Tensor): boolean {
    if (!x.requiresGrad) return true
    if (x instanceof Parameter || x.grad) return false
    x.grad = gradient.view(x.shape)
    return true
  }

  /**
   * Runs the recorded closures in reverse, from the last op, whose output must be `root`. Loss ops start from a
   * gradient of one themselves, so the root has none.
   * `onReady` hears each parameter whose gradient got its last contribution of this backward.
   */
  backward(root: Tensor, onReady?: (parameter: Parameter) => void): void {
    const entries = this.#entries
    if (entries.at(-1)?.output !== root) throw new Error('Cannot run backward: the tensor is not the last recorded output, need the loss that was just computed')
    this.#entries = []
    for (const entry of entries.reverse()) {
      const gradient = entry.output === root ? root : entry.output.grad
      if (gradient) entry.backward(gradient)
      if (entry.output !== root) entry.output.release()
      for (const tensor of entry.saved) tensor.release()
      for (const input of entry.inputs) if (input instanceof Parameter && --input.pendingUses === 0) onReady?.(input)
    }
  }

  /** Drops what an abandoned forward recorded. */
  clear(): void {
    for (const entry of this.#entries) {
      entry.output.release()
      for (const tensor of entry.saved) tensor.release()
      for (const input of entry.inputs) if (input instanceof Parameter) input.pendingUses = 0
    }
    this.#entries = []
  }
}
