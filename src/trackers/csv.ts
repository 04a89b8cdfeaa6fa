import type { TrackerRecord } from '../protocol/tracker-records.ts'

/** Columns of these records that are not among `known`, in the order in which they come. */
export function newColumns(records: readonly TrackerRecord[], known: readonly string[]): string[] {
  const found = new Set<string>()
  for (const record of records) if (record.kind === 'log') for (const name of Object.keys(record.values)) found.add(name)
  return [...found].filter((name) => name !== STEP && !known.includes(name))
}

/** The first line: the step, then the columns. */
export function csvHead(columns: readonly string[]): string {
  return row([STEP, ...columns])
}

/** A line for each record that has values; what one lacks is empty. RFC 4180, with line feeds alone. */
export function csvRows(records: readonly TrackerRecord[], columns: readonly string[]): string {
  return records.map((record) => (record.kind === 'log' ? row([record.step, ...columns.map((name) => record.values[name] ?? '')]) : '')).join('')
}

const STEP = 'step'

function row(cells: readonly (number | string)[]): string {
  return `${cells.map(cell).join(',')}\n`
}

function cell(value: number | string): string {
  const text = String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
