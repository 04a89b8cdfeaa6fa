import type { RotaryScaling } from '../rotary.ts'
import { type ConfigSource, count, positive, refuse } from './config-source.ts'

/** Rotary position embedding as `config.json` has it. */
export interface RotaryConfig {
  readonly theta: number
  /** Elements of a head that are rotated: an even number. */
  readonly dims: number
  readonly scaling: RotaryScaling
}

export interface RotaryDefaults {
  readonly headDim: number
  readonly positions: number
  /** Share of a head that is rotated when the config does not say; null where the family rotates all of it. */
  readonly partial: number | null
  /** Older names of rope_theta and partial_rotary_factor. */
  readonly thetaKey?: string
  readonly partialKey?: string
}

/** Reads `rope_parameters` (transformers 5), or `rope_theta` and `rope_scaling` (before). @throws for a kind of scaling that is not computed. */
export function rotaryConfig(source: ConfigSource, { headDim, positions, partial, thetaKey = 'rope_theta', partialKey = 'partial_rotary_factor' }: RotaryDefaults): RotaryConfig {
  const { json } = source
  const nested = record(source, 'rope_parameters') ?? record(source, 'rope_scaling') ?? {}
  // Keys of the nested record count, then those beside it.
  const merged = { [thetaKey]: json[thetaKey], rope_theta: json['rope_theta'], [partialKey]: json[partialKey], partial_rotary_factor: json['partial_rotary_factor'], ...nested }
  const rope: ConfigSource = { ...source, json: merged }
  const theta = positive(rope, 'rope_theta', merged[thetaKey] === undefined ? 10_000 : positive(rope, thetaKey))
  const share = positive(rope, 'partial_rotary_factor', merged[partialKey] === undefined || merged[partialKey] === null ? (partial ?? 1) : positive(rope, partialKey))
  if (share > 1 || (partial === null && share !== 1)) refuse(rope, 'partial_rotary_factor', share, partial === null ? '1' : 'at most 1')
  const dims = Math.trunc(headDim * share)
  if (dims < 2 || dims % 2 !== 0) refuse(rope, 'partial_rotary_factor', share, `an even number of the ${headDim} elements of a head, not ${dims}`)
  return { theta, dims, scaling: scalingOf(rope, positions) }
}

function scalingOf(rope: ConfigSource, positions: number): RotaryScaling {
  const kind: unknown = rope.json['rope_type'] ?? rope.json['type'] ?? 'default'
  const trained = () => count(rope, 'original_max_position_embeddings', positions)
  switch (kind) {
    case 'default':
      return { kind }
    case 'dynamic':
      // Frequencies change only beyond the positions that the model has.
      if (trained() !== positions) refuse(rope, 'original_max_position_embeddings', trained(), `max_position_embeddings, which is ${positions}, with dynamic scaling`)
      return { kind: 'default' }
    case 'linear':
      return { kind, factor: positive(rope, 'factor') }
    case 'llama3':
      return {
        kind,
        factor: positive(rope, 'factor'),
        lowFrequency: positive(rope, 'low_freq_factor'),
        highFrequency: positive(rope, 'high_freq_factor'),
        trainedPositions: trained(),
      }
    case 'yarn':
      return yarnOf(rope, { trained: trained(), positions })
    default:
      return refuse(rope, 'rope_type', kind, '"default", "linear", "dynamic", "llama3" or "yarn"')
  }
}

function yarnOf(rope: ConfigSource, { trained, positions }: { readonly trained: number; readonly positions: number }): RotaryScaling {
  const { json } = rope
  const optional = (key: string): number | null => (json[key] === undefined || json[key] === null ? null : positive(rope, key))
  const factor = optional('factor') ?? positions / trained
  const truncate = json['truncate'] ?? true
  if (typeof truncate !== 'boolean') refuse(rope, 'truncate', truncate, 'true or false')
  const mscale = optional('mscale')
  const mscaleAll = optional('mscale_all_dim')
  const temperature = (scale: number) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1)
  const attention = mscale !== null && mscaleAll !== null ? temperature(mscale) / temperature(mscaleAll) : temperature(1)
  return {
    kind: 'yarn',
    factor,
    attentionFactor: optional('attention_factor') ?? attention,
    betaFast: optional('beta_fast') ?? 32,
    betaSlow: optional('beta_slow') ?? 1,
    truncate,
    trainedPositions: trained,
  }
}

function record(source: ConfigSource, key: string): Readonly<Record<string, unknown>> | null {
  const value = source.json[key]
  if (value === undefined || value === null) return null
  if (typeof value !== 'object' || Array.isArray(value)) refuse(source, key, value, 'an object')
  const inner: Readonly<Record<string, unknown>> = { ...value }
  const layered = Object.entries(inner).find(([, one]) => typeof one === 'object' && one !== null && !Array.isArray(one))
  if (layered) refuse(source, key, layered[0], 'one set of parameters for all layers')
  return inner
}
