import type { NamedTensor } from '../named-tensors.ts'
import type { ModelConfig } from './families.ts'

/** Constants that older files carry: causal masks and rotary frequencies. */
const CONSTANTS = /\.(attn|attention)\.(masked_)?bias$|\.rotary_emb\.inv_freq$/

/** What transformers calls every head in memory; GPT-NeoX's files have a name of their own. */
const LM_HEAD = 'lm_head.weight'

/**
 * The tensors of a Hugging Face file under this model's names: files saved without head lack the first part of each name,
 * old ones carry constants, and some repeat a tied head.
 * @throws when the config ties the head to the embedding and the file has two different ones.
 */
export function fromHuggingFace(tensors: ReadonlyMap<string, NamedTensor>, config: ModelConfig): Map<string, NamedTensor> {
  const { embedding, head, tied } = ends(config)
  const prefix = embedding.slice(0, embedding.indexOf('.') + 1)
  const named = new Map<string, NamedTensor>()
  for (const [name, tensor] of tensors) {
    if (CONSTANTS.test(name)) continue
    if (name === head || name === LM_HEAD) named.set(head, tensor)
    else named.set(name.startsWith(prefix) ? name : `${prefix}${name}`, tensor)
  }
  if (!tied) return named
  const repeated = named.get(head)
  const table = named.get(embedding)
  if (repeated && table && !sameValues(repeated.values, table.values)) {
    throw new Error(`Cannot load the model: ${head} is not ${embedding}, need a tied head`)
  }
  named.delete(head)
  return named
}

function ends(config: ModelConfig): { readonly embedding: string; readonly head: string; readonly tied: boolean } {
  if (config.kind === 'gpt2') return { embedding: 'transformer.wte.weight', head: LM_HEAD, tied: true }
  return { embedding: `${config.names.embedding}.weight`, head: `${config.names.head}.weight`, tied: config.tied }
}

function sameValues(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
}
