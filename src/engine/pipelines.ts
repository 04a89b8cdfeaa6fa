import { type Kernel, type Specialised, specialise } from './kernel.ts'

export interface Pipeline {
  readonly id: number
  readonly name: string
  readonly layout: GPUBindGroupLayout
  /** Null until its asynchronous compilation is done. */
  compiled: GPUComputePipeline | null
  readonly code: string
  readonly pipelineLayout: GPUPipelineLayout
}

/** Pipelines by specialised text. */
export class Pipelines {
  /** Pipelines ever compiled. */
  created = 0
  readonly #device: GPUDevice
  readonly #byKey = new Map<string, Pipeline>()
  readonly #byCode = new Map<string, Pipeline>()
  readonly #compiling = new Map<Pipeline, Promise<void>>()

  constructor(device: GPUDevice) {
    this.#device = device
  }

  /** Looks the pipeline up without compiling it. */
  find(kernel: Kernel, constants: Readonly<Record<string, number>>): Pipeline {
    let key = kernel.name
    for (const name in constants) key += `,${name}=${constants[name]}`
    const known = this.#byKey.get(key)
    if (known) return known
    const special = specialise(kernel, constants)
    const pipeline = this.#byCode.get(special.code) ?? this.#describe(kernel, special)
    this.#byKey.set(key, pipeline)
    return pipeline
  }

  #describe(kernel: Kernel, special: Specialised): Pipeline {
    const layout = this.#device.createBindGroupLayout({
      entries: special.bindings.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } })),
    })
    const pipelineLayout = this.#device.createPipelineLayout({ bindGroupLayouts: [layout] })
    const pipeline: Pipeline = { id: this.#byCode.size, name: kernel.name, layout, compiled: null, code: special.code, pipelineLayout }
    this.#byCode.set(special.code, pipeline)
    return pipeline
  }

  /** Compiles now if it must; prefer `compileAsync` before the first use. */
  require(pipeline: Pipeline): GPUComputePipeline {
    if (!pipeline.compiled) {
      pipeline.compiled = this.#device.createComputePipeline(this.#descriptor(pipeline))
      this.created++
    }
    return pipeline.compiled
  }

  /** @throws when the shader does not compile, with the kernel's name and the compiler's message. */
  compileAsync(pipeline: Pipeline): Promise<void> {
    if (pipeline.compiled) return Promise.resolve()
    const running = this.#compiling.get(pipeline)
    if (running) return running
    const started = this.#device.createComputePipelineAsync(this.#descriptor(pipeline)).then(
      (compiled) => {
        pipeline.compiled ??= compiled
        this.created++
        this.#compiling.delete(pipeline)
      },
      (cause: unknown) => {
        throw new Error(`Cannot compile ${pipeline.name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
      },
    )
    this.#compiling.set(pipeline, started)
    return started
  }

  #descriptor(pipeline: Pipeline): GPUComputePipelineDescriptor {
    const module = this.#device.createShaderModule({ code: pipeline.code, label: pipeline.name })
    return { layout: pipeline.pipelineLayout, compute: { module }, label: pipeline.name }
  }
}
