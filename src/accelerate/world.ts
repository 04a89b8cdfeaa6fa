import type { Engine } from '../engine/engine.ts'
import type { RankGroup } from './rank-group.ts'

/** Files beside the script, by paths relative to where it was launched. */
export interface WorldFiles {
  /** @throws with the path when there is no such file. */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>
  /** Writes a whole folder, or leaves the one that is there as it was. */
  saveFolder(path: string, files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Promise<void>
  append(path: string, text: string): Promise<void>
}

/** What a script gets: its place among the ranks, its GPU, its arguments. `tabring launch` makes one for each tab. */
export interface World {
  readonly engine: Engine
  readonly group: RankGroup
  /** What followed `--` on the command line. */
  readonly args: readonly string[]
  readonly files: WorldFiles
  /** A line for the terminal. */
  print(line: string): void
}
