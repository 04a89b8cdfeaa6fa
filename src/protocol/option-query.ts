import { OptionError, optionFields, type TrainingOptions } from './options.ts'
import { resolveOptions } from './presets.ts'

/** The options as a URL's query: the preset, and what differs from it. `resolveOptions(optionsFromQuery(query))` gives them back. */
export function optionsToQuery(options: TrainingOptions): URLSearchParams {
  const query = new URLSearchParams({ preset: options.preset })
  addDifferences(query, options)
  addDifferences(query, options) // what the first round sets may push values of the preset aside
  return query
}

/**
 * A URL's query as raw options, to be resolved; `pageParameters` are names that are not options but belong to the page.
 * @throws OptionError for an option that is given twice.
 */
export function optionsFromQuery(query: URLSearchParams, pageParameters: readonly string[] = []): Record<string, string> {
  const raw: Record<string, string> = {}
  for (const [name, value] of query) {
    if (pageParameters.includes(name)) continue
    if (Object.hasOwn(raw, name)) throw new OptionError(name, query.getAll(name), { allowed: 'one value' })
    raw[name] = value
  }
  return raw
}

function addDifferences(query: URLSearchParams, options: TrainingOptions): void {
  const now = resolveOptions(optionsFromQuery(query))
  for (const { name } of optionFields) {
    const value = options[name]
    if (value !== now[name]) query.set(name, value === null ? '' : String(value))
  }
}
