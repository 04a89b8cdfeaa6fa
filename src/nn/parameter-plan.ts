import type { ParameterSpec } from '../engine/parameters.ts'
import { type AdaptedModule, adapterSpecs, isAdapterParameter, type LoraOptions } from './lora.ts'

/** Which of a model's parameters train. */
export interface Training {
  /** Names of parameters or modules, with `*` for any characters: what they match is frozen. */
  readonly freeze: readonly string[]
  /** Adapters beside the model's weights, which are frozen then; null to train the model itself. */
  readonly lora: LoraOptions | null
}

export const TRAIN_ALL: Training = { freeze: [], lora: null }

/** A model's own parameters, and what is to know of them to adapt it. */
export interface ModelLayout {
  readonly specs: readonly ParameterSpec[]
  /** `in-out`: weights [K, N], as Conv1D; `out-in`: [N, K], as torch's Linear. */
  readonly weights: 'in-out' | 'out-in'
  /** Modules with a table instead of a linear weight, and the head: they have no adapters. */
  readonly ends: readonly string[]
  /** What PEFT adapts in this family when it is not told. */
  readonly defaultTargets: readonly string[]
}

export interface ParameterPlan {
  readonly trainable: readonly ParameterSpec[]
  readonly frozen: readonly ParameterSpec[]
  readonly adapted: readonly AdaptedModule[]
}

/** @throws a sentence for a name that matches nothing, with those that there are, and when nothing is left to train. */
export function planParameters(layout: ModelLayout, { freeze, lora }: Training): ParameterPlan {
  const adapted = lora ? adaptedModules(layout, lora.targets) : []
  const adapters = new Map<string, readonly ParameterSpec[]>(lora ? adapted.map((module) => [`${module.name}.weight`, adapterSpecs(module, lora)]) : [])
  const specs = layout.specs.flatMap((spec) => [spec, ...(adapters.get(spec.name) ?? [])])
  const patterns = freeze.map((pattern) => matcher(pattern, specs))
  const isFrozen = ({ name }: ParameterSpec): boolean => (lora !== null && !isAdapterParameter(name)) || patterns.some((matches) => matches(name))
  const trainable = specs.filter((spec) => !isFrozen(spec))
  if (trainable.length === 0) throw new Error(`Cannot train: all ${specs.length} parameters are frozen, need at least one that requires a gradient`)
  return { trainable, frozen: specs.filter(isFrozen), adapted }
}

/** As PEFT: a target is a module's name or its end. */
function adaptedModules({ specs, weights, ends, defaultTargets }: ModelLayout, wanted: LoraOptions['targets']): AdaptedModule[] {
  const linears = specs.flatMap(({ name, shape }): AdaptedModule[] => {
    const [first, second] = shape
    if (first === undefined || second === undefined) return []
    const module = name.slice(0, -'.weight'.length)
    return [weights === 'in-out' ? { name: module, inputs: first, outputs: second } : { name: module, inputs: second, outputs: first }]
  })
  const adaptable = linears.filter(({ name }) => !ends.includes(name))
  if (wanted === 'all-linear') return adaptable
  const targets = wanted.length > 0 ? wanted : defaultTargets
  const named = (target: string) => (name: string) => name === target || name.endsWith(`.${target}`)
  for (const target of targets) {
    if (adaptable.some(({ name }) => named(target)(name))) continue
    const problem = ends.some(named(target)) ? 'embeddings and heads have no adapters here' : 'no linear module of the model has this name'
    const there = [...new Set(adaptable.map(({ name }) => name.slice(name.lastIndexOf('.') + 1)))]
    throw new Error(`Cannot adapt ${JSON.stringify(target)}: ${problem}, need some of ${there.join(', ')}, or all-linear`)
  }
  return adaptable.filter(({ name }) => targets.some((target) => named(target)(name)))
}

function matcher(pattern: string, specs: readonly ParameterSpec[]): (name: string) => boolean {
  const escaped = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${escaped.join('.*')}(\\.|$)`)
  const matches = (name: string): boolean => expression.test(name)
  if (specs.some(({ name }) => matches(name))) return matches
  const there = [...new Set(specs.map(({ name }) => name.replace(/\.\d+\./, '.*.')))]
  throw new Error(`Cannot freeze ${JSON.stringify(pattern)}: no parameter has such a name, need some of ${there.join(', ')}`)
}
