import type { ReadonlySignal } from '@preact/signals'

/** What the joining page shows and does. */
export type RankPhase = 'consent' | 'preflight' | 'connecting' | 'waiting' | 'receiving' | 'training' | 'paused' | 'finished' | 'left' | 'refused' | 'failed'

export interface RankView {
  readonly phase: ReadonlySignal<RankPhase>
  /** The big line. */
  readonly status: ReadonlySignal<string>
  /** A second, smaller sentence: what to do, or details. */
  readonly detail: ReadonlySignal<string>
  readonly room: string
  readonly name: ReadonlySignal<string>
  /** A phase whose size is known; null when nothing is under way. */
  readonly progress: ReadonlySignal<{ readonly label: string; readonly done: number; readonly total: number; readonly unit: 'bytes' | 'items' } | null>
  readonly contribution: ReadonlySignal<{
    readonly updates: number
    readonly tokens: number
    readonly tokensPerSecond: number
    readonly share: number
    readonly loss: number | null
  }>
  readonly wakeLock: ReadonlySignal<boolean>
  /** After the visitor agreed. */
  join(name: string): Promise<void>
  leave(): void
}
