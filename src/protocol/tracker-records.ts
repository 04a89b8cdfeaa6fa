/** What is logged at one step, by name; a number that JSON lacks is its word: NaN, Infinity, -Infinity. */
export type TrackedValues = Readonly<Record<string, number | string>>

/** What a run is called, and the settings that it was started with. */
export interface TrackedRun {
  /** Eight small letters and digits; the trackers know the run by it. */
  readonly id: string
  readonly project: string
  /** Null for the id. */
  readonly name: string | null
  readonly config: Readonly<Record<string, unknown>>
  /** Milliseconds since the epoch. */
  readonly startedMs: number
}

/** One thing that a tracker is told, in order. Times are milliseconds since the epoch. */
export type TrackerRecord =
  | { readonly kind: 'log'; readonly step: number; readonly timeMs: number; readonly values: TrackedValues }
  | { readonly kind: 'finish'; readonly timeMs: number }

const NOT_FINITE: Readonly<Record<string, number>> = { NaN: Number.NaN, Infinity: Number.POSITIVE_INFINITY, '-Infinity': Number.NEGATIVE_INFINITY }

/** The number that a value is; null for a text. */
export function numberOf(value: number | string): number | null {
  return typeof value === 'number' ? value : (NOT_FINITE[value] ?? null)
}

/** Values as JSON can hold them. */
export function asTracked(values: TrackedValues): TrackedValues {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, typeof value === 'number' && !Number.isFinite(value) ? String(value) : value]))
}

const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A new id of a run, as W&B's are. */
export function newRunId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => ID_LETTERS[byte % ID_LETTERS.length]).join('')
}
