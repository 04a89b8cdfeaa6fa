import { asTracked, type TrackedRun, type TrackerRecord } from '../protocol/tracker-records.ts'

/** A run as lines of JSON: the run first, then `{step, ...values}`, then the end. */
export const jsonLines = {
  head({ id, project, name, config, startedMs }: TrackedRun): string {
    return line({ run: name ?? id, id, project, config, started: iso(startedMs) })
  },
  record(record: TrackerRecord): string {
    return record.kind === 'log' ? line({ step: record.step, ...asTracked(record.values) }) : line({ finished: iso(record.timeMs) })
  },
}

function line(entry: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(entry)}\n`
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
