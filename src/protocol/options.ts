import * as v from 'valibot'
import { findConflict } from './option-checks.ts'
import { type OptionAbout, type OptionName, optionSchema, type TrainingOptions } from './option-schema.ts'

export type { OptionAbout, OptionGroup, OptionName, TrainingOptions } from './option-schema.ts'

export type OptionValue = string | number | boolean | null

export interface OptionField extends OptionAbout {
  readonly name: OptionName
  readonly default: OptionValue
  /** Whether an empty field means null. */
  readonly nullable: boolean
}

/** An option that does not exist, or a value that it cannot have. */
export class OptionError extends Error {
  readonly option: string
  readonly value: unknown
  /** What is allowed. */
  readonly allowed: string

  constructor(option: string, value: unknown, { allowed, message }: { readonly allowed: string; readonly message?: string }) {
    super(message ?? `Cannot set ${option} to ${show(value)}: need ${allowed}`)
    this.name = 'OptionError'
    this.option = option
    this.value = value
    this.allowed = allowed
  }
}

const entries = optionSchema.entries
const names = Object.keys(entries).filter(isOptionName)

/** All options in the order of the schema. */
export const optionFields: readonly OptionField[] = names.map(describe)

/**
 * Reads options from a form, a URL or a command line: text becomes numbers, booleans or null where the option has them,
 * absent options have their defaults.
 * @throws OptionError for an unknown option, an impossible value, or values that do not go together.
 */
export function parseOptions(raw: Readonly<Record<string, unknown>>): TrainingOptions {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined) continue
    if (!isOptionName(name)) throw unknownOption(name, value)
    values[name] = coerce(describe(name), value)
  }
  const parsed = v.safeParse(optionSchema, values)
  if (!parsed.success) {
    const name = String(parsed.issues[0].path?.[0]?.key)
    if (!isOptionName(name)) throw unknownOption(name, raw[name])
    throw new OptionError(name, raw[name], { allowed: describe(name).allowed })
  }
  const options = parsed.output
  const conflict = findConflict(options)
  if (conflict) throw new OptionError(conflict.name, options[conflict.name], { allowed: conflict.need })
  return options
}

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(entries, name)
}

function describe(name: OptionName): OptionField {
  const entry = entries[name]
  const about: OptionAbout = v.getMetadata(entry.wrapped)
  return { ...about, name, default: v.getDefault(entry), nullable: entry.wrapped.type === 'nullable' }
}

function coerce(field: OptionField, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const trimmed = value.trim()
  if (field.nullable && (trimmed === '' || trimmed === 'null' || trimmed === 'none')) return null
  switch (field.kind) {
    case 'integer':
    case 'number':
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : value
    case 'boolean':
      return booleanOf(trimmed.toLowerCase()) ?? value
    case 'choice':
      return trimmed
    case 'text':
      return value
    default:
      return field.kind satisfies never
  }
}

function booleanOf(word: string): boolean | null {
  if (word === 'true' || word === '1') return true
  if (word === 'false' || word === '0') return false
  return null
}

function unknownOption(name: string, value: unknown): OptionError {
  const near = nearest(name)
  const allowed = near ? `${near}, the nearest name` : `one of ${names.join(', ')}`
  return new OptionError(name, value, { allowed, message: `Cannot set ${name} to ${show(value)}: there is no such option, need ${allowed}` })
}

/** The option that a typing mistake most likely meant; null when nothing is near. */
function nearest(name: string): OptionName | null {
  const wanted = name.toLowerCase().replaceAll('-', '_')
  const limit = Math.max(2, Math.floor(wanted.length / 4))
  let best: { readonly name: OptionName; readonly distance: number } | null = null
  for (const candidate of names) {
    const distance = editDistance(wanted, candidate)
    if (distance <= limit && (best === null || distance < best.distance)) best = { name: candidate, distance }
  }
  return best?.name ?? null
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

function show(value: unknown): string {
  return typeof value === 'string' || typeof value === 'object' ? JSON.stringify(value) : String(value)
}
