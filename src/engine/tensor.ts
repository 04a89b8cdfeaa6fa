import type { Engine } from './engine.ts'
import type { Storage } from './storage.ts'

/** A shaped view of GPU memory, 32-bit elements, row-major. Made by `engine.empty`, `engine.upload` and ops. */
export class Tensor {
  readonly engine: Engine
  readonly shape: readonly number[]
  /** Number of elements. */
  readonly size: number
  readonly storage: Storage
  requiresGrad = false
  /** Gradient of the loss sum, same shape; null until a backward reaches this tensor. */
  grad: Tensor | null = null
  #released = false

  constructor(engine: Engine, shape: readonly number[], storage: Storage) {
    this.engine = engine
    this.shape = shape
    this.size = elementCount(shape)
    this.storage = storage
  }

  /** Same memory under another shape; no gradient of its own, so only for data that needs none. */
  view(shape: readonly number[]): Tensor {
    if (elementCount(shape) !== this.size) {
      throw new Error(`Cannot view ${formatShape(this.shape)} as ${formatShape(shape)}: ${this.size} is not ${elementCount(shape)} elements`)
    }
    return new Tensor(this.engine, shape, this.storage.retain())
  }

  /** Copies the values to the CPU once the work queued so far is done. */
  async read(): Promise<Float32Array<ArrayBuffer>> {
    return new Float32Array(await this.engine.readBytes(this.storage, this.size * 4))
  }

  /** Gives the memory back; safe to call twice. The gradient goes with it. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.storage.release()
    this.grad?.release()
    this.grad = null
  }

  get released(): boolean {
    return this.#released
  }
}

/** A trainable tensor: its values and its gradient are slots of the flat buffers, and are never released. */
export class Parameter extends Tensor {
  readonly name: string
  /** Gradients are added here; the optimizer's owner clears it at the start of a window. */
  readonly gradient: Tensor
  /** Uses in the current micro-batch whose backward has not run. */
  pendingUses = 0

  constructor(engine: Engine, name: string, shape: readonly number[], values: Storage, gradient: Tensor) {
    super(engine, shape, values)
    this.name = name
    this.gradient = gradient
    this.requiresGrad = true
  }

  override release(): void {}
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1)
}

export function formatShape(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`
}
