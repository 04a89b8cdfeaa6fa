import type { TrackedRun, TrackedValues } from '../protocol/tracker-records.ts'
import { jsonLines } from './json-lines.ts'
import type { Tracker } from './tracker.ts'

/** Files that can be added to. */
export interface TextFiles {
  append(path: string, text: string): Promise<void>
}

/** Appends one JSON object a line: the run first, then `{step, ...values}`, then the end. */
export class JsonLinesTracker implements Tracker {
  readonly name = 'jsonl'
  readonly #files: TextFiles
  readonly #path: string

  constructor(files: TextFiles, path: string) {
    this.#files = files
    this.#path = path
  }

  start(run: TrackedRun): Promise<void> {
    return this.#files.append(this.#path, jsonLines.head(run))
  }

  log(values: TrackedValues, step: number): Promise<void> {
    return this.#files.append(this.#path, jsonLines.record({ kind: 'log', step, timeMs: Date.now(), values }))
  }

  finish(): Promise<void> {
    return this.#files.append(this.#path, jsonLines.record({ kind: 'finish', timeMs: Date.now() }))
  }
}
