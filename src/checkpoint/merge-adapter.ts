import type { AdapterConfig } from './adapter-config.ts'
import type { AdapterModule } from './adapter-weights.ts'
import { encodeFloats, exactValues } from './float-tensors.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'

export interface MergeOptions {
  readonly config: Pick<AdapterConfig, 'rank' | 'alpha' | 'rankStabilised'>
  /** config.json of the model. */
  readonly model: Readonly<Record<string, unknown>>
}

/**
 * The model with an adapter added to its weights, W + scale B A, as a safetensors file: names, types and all other tensors as they were.
 * Sums are in float64, rounded once to the weight's type.
 * @throws with the module that the model lacks or that has another shape.
 */
export function mergeAdapter(file: Uint8Array, adapter: readonly AdapterModule[], { config, model }: MergeOptions): Uint8Array<ArrayBuffer> {
  const { tensors, metadata } = readSafetensors(file)
  const merged = new Map<string, RawTensor>(tensors)
  const scale = config.alpha / (config.rankStabilised ? Math.sqrt(config.rank) : config.rank)
  // Conv1D's weights are [in, out].
  const transposed = model['model_type'] === 'gpt2'
  for (const module of adapter) {
    const name = weightName(module.name, tensors)
    const weight = tensors.get(name)
    if (!weight) throw new Error(`Cannot merge the adapter: the model has no ${module.name}.weight, which it adapts`)
    merged.set(name, mergeModule(name, weight, module, { scale, transposed }))
  }
  return writeSafetensors(merged, metadata)
}

/** Files that were saved without head lack the first part of each name. */
function weightName(module: string, tensors: ReadonlyMap<string, RawTensor>): string {
  const full = `${module}.weight`
  return tensors.has(full) ? full : full.slice(full.indexOf('.') + 1)
}

function mergeModule(name: string, weight: RawTensor, { a, b }: AdapterModule, { scale, transposed }: { readonly scale: number; readonly transposed: boolean }): RawTensor {
  const [rank = 0, inputs = 0] = a.shape
  const [outputs = 0] = b.shape
  const need = transposed ? [inputs, outputs] : [outputs, inputs]
  if (weight.shape.join() !== need.join()) throw new Error(`Cannot merge into ${name}: its shape is [${weight.shape.join(', ')}], need [${need.join(', ')}] for this adapter`)
  const values = exactValues(name, weight)
  const [left, right] = [exactValues(name, b), exactValues(name, a)]
  const row = new Float64Array(inputs)
  for (let out = 0; out < outputs; out++) {
    row.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = scale * (left[out * rank + r] ?? 0)
      for (let column = 0; column < inputs; column++) row[column] = (row[column] ?? 0) + factor * (right[r * inputs + column] ?? 0)
    }
    for (let column = 0; column < inputs; column++) {
      const at = transposed ? column * outputs + out : out * inputs + column
      values[at] = (values[at] ?? 0) + (row[column] ?? 0)
    }
  }
  return { dtype: weight.dtype, shape: weight.shape, data: encodeFloats(name, weight.dtype, values) }
}
