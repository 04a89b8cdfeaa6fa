import type { AdapterConfig } from './adapter-config.ts'
import { floatValues } from './float-tensors.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'

/** Before every name in PEFT's files: its own wrapper, and the model in it. */
const PREFIX = 'base_model.model.'
const NAME = /^(.+)\.lora_([AB])\.weight$/

/** The two halves of one module's adapter. */
export interface AdapterModule {
  /** As the model calls it. */
  readonly name: string
  /** [rank, inputs] */
  readonly a: RawTensor
  /** [outputs, rank] */
  readonly b: RawTensor
}

/**
 * Reads adapter_model.safetensors.
 * @throws with the tensor that is none of an adapter of linear layers, has no other half, another rank than the config says, or a number that is not finite.
 */
export function readAdapter(file: Uint8Array, { rank }: Pick<AdapterConfig, 'rank'>): AdapterModule[] {
  for (const [key, tensor] of readSafetensors(file).tensors) {
    const [, , half] = NAME.exec(key.startsWith(PREFIX) ? key.slice(PREFIX.length) : '') ?? []
    if (half === undefined) throw new Error(`Cannot read the adapter: it has tensor ${key}, need names such as ${PREFIX}model.layers.0.self_attn.q_proj.lora_A.weight`)
    const [rows, columns, more] = tensor.shape
    const found = half === 'A' ? rows : columns
    if (columns === undefined || more !== undefined || found !== rank)
      throw new Error(
        `Cannot read adapter tensor ${key}: its shape is [${tensor.shape.join(', ')}], need ${half === 'A' ? `[${rank}, inputs]` : `[outputs, ${rank}]`}, because r is ${rank}`,
      )
    checkFinite(key, tensor)
  }
  return adapterModules(file)
}

/** The modules of a file of adapter tensors, under PEFT's names or the model's own. @throws when half of one is missing. */
export function adapterModules(file: Uint8Array): AdapterModule[] {
  const halves = new Map<string, { a?: RawTensor; b?: RawTensor }>()
  for (const [key, tensor] of readSafetensors(file).tensors) {
    const [, module = '', half] = NAME.exec(key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key) ?? []
    if (half !== undefined) halves.set(module, { ...halves.get(module), [half === 'A' ? 'a' : 'b']: tensor })
  }
  if (halves.size === 0) throw new Error('Cannot read the adapter: it has no tensors, need those of at least one module')
  return [...halves].map(([name, { a, b }]) => {
    if (!a || !b) throw new Error(`Cannot read the adapter: ${PREFIX}${name}.lora_${a ? 'B' : 'A'}.weight is missing, need both halves of each module`)
    return { name, a, b }
  })
}

/** adapter_model.safetensors of adapter tensors under the model's own names, as a rank has them. */
export function writeAdapter(adapters: Uint8Array): { readonly file: Uint8Array<ArrayBuffer>; readonly modules: readonly string[] } {
  const { tensors } = readSafetensors(adapters)
  const modules = [...tensors.keys()].flatMap((name) => (name.endsWith('.lora_A.weight') ? [name.slice(0, -'.lora_A.weight'.length)] : []))
  return { file: writeSafetensors(new Map([...tensors].map(([name, tensor]) => [`${PREFIX}${name}`, tensor]))), modules }
}

/** One file of a model's tensors and an adapter's beside them. */
export function joinAdapter(model: Uint8Array, adapter: readonly AdapterModule[]): Uint8Array<ArrayBuffer> {
  const halves = adapter.flatMap(({ name, a, b }) => [[`${name}.lora_A.weight`, a] as const, [`${name}.lora_B.weight`, b] as const])
  return writeSafetensors(new Map([...readSafetensors(model).tensors, ...halves]))
}

function checkFinite(name: string, tensor: RawTensor): void {
  const values = floatValues(name, tensor)
  const broken = values.findIndex((value) => !Number.isFinite(value))
  if (broken >= 0) throw new Error(`Cannot read adapter tensor ${name}: number ${broken + 1} of ${values.length} is ${values[broken]}, need finite numbers`)
}
