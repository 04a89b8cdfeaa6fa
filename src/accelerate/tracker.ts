/** What a run is called, and the settings that it was started with. */
export interface TrackedRun {
  readonly project: string
  readonly config: Readonly<Record<string, unknown>>
}

/** Something that keeps a run's numbers. The Accelerator calls it on the main rank alone, and once for each value. */
export interface Tracker {
  readonly name: string
  start(run: TrackedRun): Promise<void>
  log(values: Readonly<Record<string, number | string>>, step: number): Promise<void>
  finish(): Promise<void>
}
