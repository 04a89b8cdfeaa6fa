import type { Tracker, TrackedRun } from './tracker.ts'
import type { WorldFiles } from './world.ts'

/** Appends one JSON object a line: the run first, then `{step, ...values}`, then the end. */
export class JsonLinesTracker implements Tracker {
  readonly name = 'jsonl'
  readonly #files: WorldFiles
  readonly #path: string

  constructor(files: WorldFiles, path: string) {
    this.#files = files
    this.#path = path
  }

  start(run: TrackedRun): Promise<void> {
    return this.#write({ ...run, started: new Date().toISOString() })
  }

  log(values: Readonly<Record<string, number | string>>, step: number): Promise<void> {
    return this.#write({ step, ...values })
  }

  finish(): Promise<void> {
    return this.#write({ finished: new Date().toISOString() })
  }

  #write(entry: Readonly<Record<string, unknown>>): Promise<void> {
    return this.#files.append(this.#path, `${JSON.stringify(entry)}\n`)
  }
}
