import type { FolderFile } from '../checkpoint/hf-folder.ts'
import type { TextSource } from './session-view.ts'

/** What a person is told of a checkpoint, without reading it. */
export interface CheckpointFacts {
  /** `checkpoint-N`, N as `step`. */
  readonly name: string
  /** Optimizer steps taken. */
  readonly step: number
  /** Windows done. */
  readonly update: number
  readonly totalUpdates: number
  /** Of the last update; null when that was skipped. */
  readonly loss: number | null
  readonly source: TextSource
  readonly preset: string
  readonly outputDir: string
}

/** Where checkpoints of one run go. */
export interface CheckpointPlace {
  /** Resolves when the folder stands; then the oldest beyond save_total_limit are gone. @throws a sentence; what was there before stays. */
  keep(facts: CheckpointFacts, files: readonly FolderFile[]): Promise<void>
}
