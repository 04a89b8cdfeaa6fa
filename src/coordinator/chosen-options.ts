import type { TrainingOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'

/** What a person chose over the preset; the preset's other values then still give way to the next choice. */
export function chosenOptions(options: TrainingOptions): Readonly<Record<string, unknown>> {
  const base: Readonly<Record<string, unknown>> = resolveOptions({ preset: options.preset })
  return { preset: options.preset, ...Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== base[name])) }
}
