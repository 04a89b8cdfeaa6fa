import { floatValues } from './float-tensors.ts'
import { readSafetensors } from './safetensors.ts'

/** A tensor of finite numbers, row-major. */
export interface FloatTensor {
  readonly shape: readonly number[]
  readonly values: Float32Array<ArrayBuffer>
}

/** The tensors of a safetensors file as f32. @throws for what is broken and for a number that is not finite, with its tensor and place. */
export function readWeights(file: Uint8Array): Map<string, FloatTensor> {
  const tensors = new Map<string, FloatTensor>()
  for (const [name, tensor] of readSafetensors(file).tensors) {
    const values = floatValues(name, tensor)
    const broken = values.findIndex((value) => !Number.isFinite(value))
    if (broken >= 0) throw new Error(`Cannot load tensor ${name}: number ${broken + 1} of ${values.length} is ${values[broken]}, need finite numbers`)
    tensors.set(name, { shape: tensor.shape, values })
  }
  return tensors
}

const HEADS: readonly string[] = ['lm_head.weight', 'embed_out.weight']

/** Numbers of a model's file: the head that a config ties to the embedding counts once, wherever a file has it. */
export function countWeights(file: Uint8Array, config: Readonly<Record<string, unknown>>): number {
  // transformers leaves the key out where it has the family's default.
  const tied = config['tie_word_embeddings'] ?? config['model_type'] === 'gpt2'
  let count = 0
  for (const [name, { shape }] of readSafetensors(file).tensors) {
    if (!(tied && HEADS.includes(name))) count += shape.reduce((product, length) => product * length, 1)
  }
  return count
}
