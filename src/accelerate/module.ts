import { Weight } from './weight.ts'

/**
 * A model or a part of one, as torch's nn.Module: its parameters are the Weights among its own attributes, and those of the modules
 * there and in lists there; their names are the paths, such as `blocks.0.norm.weight`. Private #attributes are not seen.
 */
export abstract class Module {
  /** This module; the same whether it is wrapped or not. */
  get module(): this {
    return this
  }

  /** By name, in the order of the attributes. A Weight that stands in two places has the name of the first. */
  namedWeights(): Map<string, Weight> {
    const found = new Map<string, Weight>()
    collect(this, '', found, new Set())
    return found
  }

  /** Freezes all parameters (false) or lets them train. @returns this */
  requiresGrad(flag: boolean): this {
    for (const weight of this.namedWeights().values()) weight.requiresGrad = flag
    return this
  }
}

function collect(value: unknown, path: string, found: Map<string, Weight>, seen: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  if (!(value instanceof Weight || value instanceof Module || Array.isArray(value))) return
  seen.add(value)
  if (value instanceof Weight) found.set(path, value)
  else for (const [key, part] of Object.entries(value)) collect(part, path === '' ? key : `${path}.${key}`, found, seen)
}
