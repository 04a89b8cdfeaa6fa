export interface SamplingOptions {
  /** 0 takes the likeliest token. */
  readonly temperature: number
  /** Only so many likeliest tokens take part; 0 means all. */
  readonly topK: number
  /** Then only the likeliest tokens that together have this probability; 1 means all, and one always stays. */
  readonly topP: number
}

/** logits: [vocab] -> a token id, drawn with `uniform` from [0, 1). Ties are broken by the lower id. */
export function sampleToken(logits: Float32Array, { temperature, topK, topP }: SamplingOptions, uniform: number): number {
  const order = Array.from(logits, (logit, id) => ({ logit, id })).sort((a, b) => b.logit - a.logit || a.id - b.id)
  const best = order[0]
  if (!best) throw new Error('Cannot sample a token: there are no logits, need at least one')
  if (!order.every(({ logit }) => Number.isFinite(logit))) throw new Error('Cannot sample a token: a logit is not finite')
  if (temperature <= 0) return best.id
  const taken = topK > 0 ? order.slice(0, topK) : order
  const weights = nucleus(
    taken.map(({ logit }) => Math.exp((logit - best.logit) / temperature)),
    topP,
  )
  let left = uniform * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [index, { id }] of taken.entries()) {
    left -= weights[index] ?? 0
    if (left < 0) return id
  }
  return taken[weights.length - 1]?.id ?? best.id
}

/** weights: falling -> those of the tokens that it takes to reach the share `topP` of their sum (Holtzman et al. 2020). */
function nucleus(weights: readonly number[], topP: number): readonly number[] {
  if (topP >= 1) return weights
  const wanted = topP * weights.reduce((sum, weight) => sum + weight, 0)
  let reached = 0
  const last = weights.findIndex((weight) => (reached += weight) >= wanted)
  return last < 0 ? weights : weights.slice(0, last + 1)
}
