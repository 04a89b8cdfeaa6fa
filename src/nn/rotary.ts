import type { Engine } from '../engine/engine.ts'
import type { RotaryTable } from '../engine/ops/arrange-heads.ts'
import { Tensor } from '../engine/tensor.ts'

/** How frequencies are changed for texts longer than those a model was first trained on. */
export type RotaryScaling =
  | { readonly kind: 'default' }
  | { readonly kind: 'linear'; readonly factor: number }
  | { readonly kind: 'llama3'; readonly factor: number; readonly lowFrequency: number; readonly highFrequency: number; readonly trainedPositions: number }
  | {
      readonly kind: 'yarn'
      readonly factor: number
      /** Cosines and sines are multiplied by it. */
      readonly attentionFactor: number
      readonly betaFast: number
      readonly betaSlow: number
      /** Whether the ends of the ramp are whole dimensions. */
      readonly truncate: boolean
      readonly trainedPositions: number
    }

export interface RotarySettings {
  readonly theta: number
  /** Rotated elements of a head. */
  readonly dims: number
  readonly scaling: RotaryScaling
}

/** Angle per position of each of the dims / 2 pairs, as transformers' `modeling_rope_utils`. */
export function rotaryFrequencies({ theta, dims, scaling }: RotarySettings): number[] {
  const plain = Array.from({ length: dims / 2 }, (_, pair) => theta ** ((-2 * pair) / dims))
  switch (scaling.kind) {
    case 'default':
      return plain
    case 'linear':
      return plain.map((frequency) => frequency / scaling.factor)
    case 'llama3':
      return plain.map((frequency) => {
        const { factor, lowFrequency, highFrequency, trainedPositions } = scaling
        // Turns over the trained positions: few are slowed down, many are left, and between them a mixture.
        const turns = (trainedPositions * frequency) / (2 * Math.PI)
        const kept = Math.min(1, Math.max(0, (turns - lowFrequency) / (highFrequency - lowFrequency)))
        return frequency * (kept + (1 - kept) / factor)
      })
    case 'yarn': {
      const { factor, betaFast, betaSlow, truncate, trainedPositions } = scaling
      const dimOf = (turns: number) => (dims * Math.log(trainedPositions / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
      const low = Math.max(0, truncate ? Math.floor(dimOf(betaFast)) : dimOf(betaFast))
      const top = Math.min(dims - 1, truncate ? Math.ceil(dimOf(betaSlow)) : dimOf(betaSlow))
      const high = top === low ? top + 0.001 : top
      return plain.map((frequency, pair) => {
        const slowed = Math.min(1, Math.max(0, (pair - low) / (high - low)))
        return frequency * (1 - slowed + slowed / factor)
      })
    }
    default:
      return scaling satisfies never
  }
}

/** Cosines and sines of all positions; memory that lives as long as the engine. */
export function createRotaryTable(engine: Engine, settings: RotarySettings, positions: number): RotaryTable {
  const half = settings.dims / 2
  const frequencies = rotaryFrequencies(settings)
  const factor = settings.scaling.kind === 'yarn' ? settings.scaling.attentionFactor : 1
  const flat = new Float32Array(positions * half * 2)
  for (let position = 0; position < positions; position++) {
    for (const [pair, frequency] of frequencies.entries()) {
      const at = 2 * (position * half + pair)
      flat[at] = Math.cos(position * frequency) * factor
      flat[at + 1] = Math.sin(position * frequency) * factor
    }
  }
  const storage = engine.reserve(flat.byteLength, 'rotary table')
  engine.write(storage, flat)
  return { values: new Tensor(engine, [positions, half, 2], storage), positions, half }
}
