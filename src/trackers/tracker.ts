import type { TrackedRun, TrackedValues } from '../protocol/tracker-records.ts'

/** Something that keeps a run's numbers. It is called on the main rank alone, and once for each value. */
export interface Tracker {
  readonly name: string
  start(run: TrackedRun): Promise<void>
  log(values: TrackedValues, step: number): Promise<void>
  finish(): Promise<void>
}
