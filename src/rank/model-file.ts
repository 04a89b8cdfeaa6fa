import { floatTensor } from '../checkpoint/float-tensors.ts'
import { writeSafetensors } from '../checkpoint/safetensors.ts'
import { readWeights } from '../checkpoint/weights.ts'
import { isAdapterParameter } from '../nn/lora.ts'
import type { CausalModel } from '../nn/model.ts'
import { valuesOf } from '../nn/model-parameters.ts'
import type { ModelConfig } from '../nn/models/families.ts'
import { fromHuggingFace } from '../nn/models/from-hugging-face.ts'
import { initialiseAdapters, initialiseModel } from '../nn/models/initialise.ts'
import { loadTensors, readTensors } from '../nn/named-tensors.ts'

export interface ModelStart {
  /** A safetensors file with the weights and maybe adapters; null for initial weights. */
  readonly file: Uint8Array | null
  readonly seed: number
}

/** Gives a model its first values. Adapters that the file does not have start anew. @throws as `loadTensors`. */
export function fillModel(model: CausalModel, config: ModelConfig, { file, seed }: ModelStart): void {
  const { engine } = model
  const places = valuesOf(model)
  if (!file) return initialiseModel(engine, places, config, seed)
  const tensors = fromHuggingFace(readWeights(file), config)
  const adapted = [...tensors.keys()].some(isAdapterParameter)
  if (!adapted) initialiseAdapters(engine, places, seed)
  loadTensors(engine, places, tensors, { mayLack: (name) => !adapted && isAdapterParameter(name) })
}

/** The model as a safetensors file; of a model with adapters, the adapters alone. */
export async function packModel(model: CausalModel): Promise<Uint8Array<ArrayBuffer>> {
  const tensors = [...(await readTensors(model.engine, valuesOf(model)))]
  const adapters = tensors.filter(([name]) => isAdapterParameter(name))
  return writeSafetensors(new Map((adapters.length > 0 ? adapters : tensors).map(([name, { shape, values }]) => [name, floatTensor(values, shape)])))
}
