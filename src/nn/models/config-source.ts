/** A parsed `config.json`, and what errors call its family. */
export interface ConfigSource {
  readonly family: string
  readonly json: Readonly<Record<string, unknown>>
}

/** Switches with the only values that a model computes; a key that is absent has such a value. @throws for another value, by name. */
export function requireSupported(source: ConfigSource, supported: Readonly<Record<string, readonly unknown[]>>): void {
  for (const [key, allowed] of Object.entries(supported)) {
    const value = source.json[key]
    if (value !== undefined && !allowed.includes(value)) refuse(source, key, value, allowed.map((one) => JSON.stringify(one)).join(' or '))
  }
}

/** A whole number from 1. Without a fallback the key must be there; null counts as absent. */
export function count(source: ConfigSource, key: string, fallback?: number): number {
  const value = source.json[key] ?? fallback
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : refuse(source, key, source.json[key], 'a whole number from 1')
}

export function positive(source: ConfigSource, key: string, fallback?: number): number {
  const value = source.json[key] ?? fallback
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : refuse(source, key, value, 'a number above 0')
}

export function flag(source: ConfigSource, key: string, fallback: boolean): boolean {
  const value = source.json[key] ?? fallback
  return typeof value === 'boolean' ? value : refuse(source, key, value, 'true or false')
}

/** One of the keys of `meanings`, as what it means here. */
export function choice<T>(source: ConfigSource, key: string, meanings: Readonly<Record<string, T>>, fallback: string): T {
  const value = source.json[key] ?? fallback
  const meaning = typeof value === 'string' && Object.hasOwn(meanings, value) ? meanings[value] : undefined
  return (
    meaning ??
    refuse(
      source,
      key,
      value,
      Object.keys(meanings)
        .map((one) => JSON.stringify(one))
        .join(' or '),
    )
  )
}

export function refuse({ family }: ConfigSource, key: string, value: unknown, need: string): never {
  throw new Error(`Cannot use this ${family} config: ${key} is ${JSON.stringify(value) ?? 'missing'}, need ${need}`)
}
