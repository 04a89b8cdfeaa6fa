import { BufferPool } from './buffer-pool.ts'
import type { Kernel } from './kernel.ts'
import { type Pipeline, Pipelines } from './pipelines.ts'
import { Storage } from './storage.ts'
import { Tape } from './tape.ts'
import { Tensor, elementCount } from './tensor.ts'

/** Two designs of each heavy kernel: without barriers for CPU adapters, with workgroup memory for GPUs. */
export type Profile = 'lane' | 'shared'

export interface EngineOptions {
  readonly profile: Profile
  /** Tests: every new tensor, padding included, starts as NaN bits, so that a read of unwritten memory shows. */
  readonly poison?: boolean
}

/** Counts of things created so far; a steady-state update changes only `dispatches` and `submits`. */
export interface EngineCounts {
  readonly buffers: number
  readonly bindGroups: number
  readonly pipelines: number
  readonly dispatches: number
  readonly submits: number
  readonly bytes: number
  readonly peakBytes: number
}

const STORAGE_USAGE = 0x80 | 0x08 | 0x04 // STORAGE | COPY_DST | COPY_SRC; the global enum is missing in Node until Dawn is loaded
const READBACK_USAGE = 0x01 | 0x08 // MAP_READ | COPY_DST

/** Scopes, one per micro-batch: whatever was allocated inside and is still alive is released at its end. */
export interface Scope {
  [Symbol.dispose](): void
}

/**
 * One GPU device: memory, kernels and the command queue. Ops enqueue and return; only `read*`, `compile` and `idle` wait.
 */
export class Engine {
  readonly device: GPUDevice
  readonly profile: Profile
  /** Subgroups are four invocations wide, as on SwiftShader: the lanes of one SSE register, between which broadcasts are cheap. */
  readonly quads: boolean
  readonly tape = new Tape()
  /** Fill the bindings that a kernel's variant does not use; one to read, one to write. */
  readonly unused: { readonly read: Tensor; readonly write: Tensor }
  readonly #pool: BufferPool
  readonly #readback: BufferPool
  readonly #pipelines: Pipelines
  readonly #bindGroups = new Map<string, GPUBindGroup>()
  readonly #poison: boolean
  #fixedBytes = 0
  #fixedBuffers: GPUBuffer[] = []
  #bufferIds = 0
  #bindGroupCount = 0
  #dispatches = 0
  #submits = 0
  #encoder: GPUCommandEncoder | null = null
  #pass: GPUComputePassEncoder | null = null
  #scopes: Tensor[][] = []
  #collecting: Set<Pipeline> | null = null

  constructor(device: GPUDevice, options: EngineOptions) {
    this.device = device
    this.profile = options.profile
    this.quads = device.features.has('subgroups') && device.adapterInfo.subgroupMinSize === 4 && device.adapterInfo.subgroupMaxSize === 4
    this.#poison = options.poison ?? false
    const nextId = () => this.#bufferIds++
    this.#pool = new BufferPool(device, STORAGE_USAGE, 'tensor', nextId)
    this.#readback = new BufferPool(device, READBACK_USAGE, 'readback', nextId)
    this.#pipelines = new Pipelines(device)
    const filler = (label: string): Tensor => new Tensor(this, [4], this.reserve(16, label))
    this.unused = { read: filler('unused, read'), write: filler('unused, write') }
  }

  get counts(): EngineCounts {
    return {
      buffers: this.#pool.counts.created + this.#readback.counts.created + this.#fixedBuffers.length,
      bindGroups: this.#bindGroupCount,
      pipelines: this.#pipelines.created,
      dispatches: this.#dispatches,
      submits: this.#submits,
      bytes: this.#pool.counts.bytes + this.#readback.counts.bytes + this.#fixedBytes,
      peakBytes: this.#pool.counts.peakBytes + this.#readback.counts.peakBytes + this.#fixedBytes,
    }
  }

  /** @throws when the tensor is larger than one storage binding of this adapter. */
  empty(shape: readonly number[]): Tensor {
    const bytes = Math.max(4, elementCount(shape) * 4)
    this.#checkBinding(bytes, `a tensor of shape [${shape.join(', ')}]`)
    const tensor = new Tensor(this, shape, this.#pool.take(bytes))
    this.#scopes.at(-1)?.push(tensor)
    if (this.#poison) this.write(tensor.storage, new Uint32Array(tensor.storage.bytes / 4).fill(0x7fc00000))
    return tensor
  }

  /** A tensor with the given 32-bit values. */
  upload(values: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer>, shape: readonly number[]): Tensor {
    if (values.length !== elementCount(shape)) throw new Error(`Cannot upload ${values.length} values as [${shape.join(', ')}]: need ${elementCount(shape)}`)
    const tensor = this.empty(shape)
    this.write(tensor.storage, values)
    return tensor
  }

  /** Memory that lives as long as the engine: parameters, gradients, moments. Zeroed. Not limited by the binding size. */
  reserve(bytes: number, label: string): Storage {
    const limit = this.device.limits.maxBufferSize
    if (bytes > limit) throw new Error(`Cannot reserve ${label}: ${bytes} bytes, the adapter allows buffers of at most ${limit}`)
    const size = Math.max(4, bytes)
    const buffer = this.device.createBuffer({ size, usage: STORAGE_USAGE, label })
    this.#fixedBuffers.push(buffer)
    this.#fixedBytes += size
    return new Storage(buffer, this.#bufferIds++, 0, size, null)
  }

  /** A slot of reserved memory; `offset` must be a multiple of 256. */
  slice(storage: Storage, offset: number, bytes: number): Storage {
    if (offset % 256 !== 0) throw new Error(`Cannot slice at byte ${offset}: need a multiple of 256`)
    return new Storage(storage.buffer, storage.bufferId, storage.offset + offset, bytes, null)
  }

  /** Overwrites `storage` from `byteOffset`. Commands encoded before see the old values. */
  write(storage: Storage, values: ArrayBufferView<ArrayBuffer>, byteOffset = 0): void {
    if (this.#collecting) return
    this.flush()
    this.device.queue.writeBuffer(storage.buffer, storage.offset + byteOffset, values)
  }

  clear(storage: Storage): void {
    if (this.#collecting) return
    this.#endPass()
    this.#openEncoder().clearBuffer(storage.buffer, storage.offset, storage.bytes)
  }

  copy(from: Storage, to: Storage, bytes: number): void {
    if (this.#collecting) return
    this.#endPass()
    this.#openEncoder().copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, bytes)
  }

  /**
   * Enqueues one dispatch. `bindings` in the order of the WGSL bindings; more than 65,535 workgroups in x are folded into
   * rows of y, so kernels that may exceed it compute `id.y * (65535 * size) + id.x`: use `foldedGrid`.
   */
  dispatch(kernel: Kernel, constants: Readonly<Record<string, number>>, bindings: readonly Tensor[], grid: readonly [number, number?, number?]): void {
    const pipeline = this.#pipelines.find(kernel, constants)
    if (this.#collecting) {
      this.#collecting.add(pipeline)
      return
    }
    const compiled = this.#pipelines.require(pipeline)
    const pass = this.#openPass()
    pass.setPipeline(compiled)
    pass.setBindGroup(0, this.#bindGroup(pipeline, bindings))
    pass.dispatchWorkgroups(grid[0], grid[1] ?? 1, grid[2] ?? 1)
    this.#dispatches++
  }

  /** Compiles, in parallel, every pipeline that `body` would use. Nothing in `body` is executed on the GPU. */
  async compile(body: () => void): Promise<void> {
    const found = new Set<Pipeline>()
    this.#collecting = found
    try {
      using _scope = this.scope()
      body()
      this.tape.clear()
    } finally {
      this.#collecting = null
    }
    await Promise.all([...found].map((pipeline) => this.#pipelines.compileAsync(pipeline)))
  }

  scope(): Scope {
    const mine: Tensor[] = []
    this.#scopes.push(mine)
    return {
      [Symbol.dispose]: () => {
        const top = this.#scopes.pop()
        if (top !== mine) throw new Error('Cannot end a scope: a scope opened inside it is still open')
        for (const tensor of mine) tensor.release()
      },
    }
  }

  /** Submits what is encoded. */
  flush(): void {
    if (!this.#encoder) return
    this.#endPass()
    this.device.queue.submit([this.#encoder.finish()])
    this.#encoder = null
    this.#submits++
  }

  /** Copies bytes to the CPU once the work queued so far is done. */
  async readBytes(storage: Storage, bytes: number): Promise<ArrayBuffer> {
    const mapped = await this.mapBytes(storage, bytes)
    try {
      return mapped.range.slice(0)
    } finally {
      mapped.close()
    }
  }

  /**
   * As `readBytes` without the copy: `range` is the mapped memory, valid until `close`. Writing to it does not reach the
   * GPU, so it may serve as scratch. Work encoded after this call does not delay it.
   */
  async mapBytes(storage: Storage, bytes: number): Promise<{ readonly range: ArrayBuffer; close(): void }> {
    const staging = this.#readback.take(bytes)
    this.copy(storage, staging, bytes)
    this.flush()
    try {
      await staging.buffer.mapAsync(0x01, 0, bytes)
    } catch (cause) {
      throw new Error(`Cannot read ${bytes} bytes from the GPU: the device was lost or destroyed`, { cause })
    }
    const range = staging.buffer.getMappedRange(0, bytes)
    return {
      range,
      close: () => {
        staging.buffer.unmap()
        staging.release()
      },
    }
  }

  async idle(): Promise<void> {
    this.flush()
    await this.device.queue.onSubmittedWorkDone()
  }

  close(): void {
    this.#pool.close()
    this.#readback.close()
    for (const buffer of this.#fixedBuffers) buffer.destroy()
    this.#fixedBuffers = []
    this.#bindGroups.clear()
    this.device.destroy()
  }

  #bindGroup(pipeline: Pipeline, bindings: readonly Tensor[]): GPUBindGroup {
    let key = `${pipeline.id}`
    for (const { storage, size } of bindings) key += `|${storage.bufferId}:${storage.offset}:${size}`
    const known = this.#bindGroups.get(key)
    if (known) return known
    const group = this.device.createBindGroup({
      layout: pipeline.layout,
      entries: bindings.map(({ storage, size }, binding) => {
        this.#checkBinding(size * 4, `a binding of ${pipeline.name}`)
        return { binding, resource: { buffer: storage.buffer, offset: storage.offset, size: Math.max(4, size * 4) } }
      }),
      label: pipeline.name,
    })
    this.#bindGroupCount++
    this.#bindGroups.set(key, group)
    return group
  }

  #checkBinding(bytes: number, what: string): void {
    const limit = this.device.limits.maxStorageBufferBindingSize
    if (bytes > limit) throw new Error(`Cannot make ${what}: ${bytes} bytes, this adapter binds at most ${limit}`)
  }

  #openEncoder(): GPUCommandEncoder {
    this.#encoder ??= this.device.createCommandEncoder()
    return this.#encoder
  }

  #openPass(): GPUComputePassEncoder {
    this.#pass ??= this.#openEncoder().beginComputePass()
    return this.#pass
  }

  #endPass(): void {
    this.#pass?.end()
    this.#pass = null
  }
}

/** Largest workgroup count per dimension that every WebGPU adapter allows. */
const MAX_GRID = 65_535

/** A grid of at least `groups` workgroups: [x] or, beyond the limit, [65535, y]. */
export function foldedGrid(groups: number): readonly [number, number] {
  return groups <= MAX_GRID ? [groups, 1] : [MAX_GRID, Math.ceil(groups / MAX_GRID)]
}
