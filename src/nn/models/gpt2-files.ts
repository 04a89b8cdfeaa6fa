import type { NamedTensor } from '../named-tensors.ts'

const HEAD = 'lm_head.weight'
const EMBEDDING = 'transformer.wte.weight'
/** Constants that older files of GPT-2 carry: the causal mask. */
const MASKS = /\.attn\.(masked_)?bias$/

/**
 * The tensors of a Hugging Face GPT-2 file under this model's names: files saved without head lack the `transformer.` prefix,
 * old ones carry masks, and some repeat the tied head.
 * @throws when the head differs from the embedding: this model has one tensor for both.
 */
export function fromHuggingFaceGpt2(tensors: ReadonlyMap<string, NamedTensor>): Map<string, NamedTensor> {
  const named = new Map<string, NamedTensor>()
  for (const [name, tensor] of tensors) {
    if (MASKS.test(name)) continue
    named.set(name === HEAD || name.startsWith('transformer.') ? name : `transformer.${name}`, tensor)
  }
  const head = named.get(HEAD)
  const embedding = named.get(EMBEDDING)
  if (head && embedding && !sameValues(head.values, embedding.values)) {
    throw new Error(`Cannot load the model: ${HEAD} is not ${EMBEDDING}, need a tied head`)
  }
  named.delete(HEAD)
  return named
}

function sameValues(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
}
