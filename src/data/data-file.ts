import { readTextFile } from './text-source.ts'

/** A row of a JSONL, JSON or CSV file. */
export interface DataRecord {
  /** 1-based; of a JSON array, the element's number. */
  readonly line: number
  readonly fields: Readonly<Record<string, unknown>>
}

/** What a file to train on holds: running text, or rows that are samples of their own. */
export type DataFile =
  | { readonly kind: 'text'; readonly name: string; readonly text: string }
  | { readonly kind: 'records'; readonly name: string; readonly records: readonly DataRecord[] }

/** As for texts: everything stays in memory, on the page and on each rank. */
const MAX_BYTES = 256 * 1024 * 1024

/**
 * Reads a file by the ending of its name: .jsonl or .ndjson, .json (an array of objects), .csv or .tsv with a header, anything else as text.
 * @throws a sentence that names file and line.
 */
export async function readDataFile(name: string, bytes: Uint8Array): Promise<DataFile> {
  const [, ending = ''] = /\.([a-z]+)$/i.exec(name) ?? []
  switch (ending.toLowerCase()) {
    case 'jsonl':
    case 'ndjson':
      return recordFile(name, readLines(name, decode(name, bytes)))
    case 'json':
      return recordFile(name, readArray(name, decode(name, bytes)))
    case 'csv':
    case 'tsv':
      return recordFile(name, await readTable(name, decode(name, bytes)))
    default:
      return { kind: 'text', name, text: readTextFile(name, bytes) }
  }
}

function recordFile(name: string, records: readonly DataRecord[]): DataFile {
  if (records.length === 0) throw new Error(`Cannot use ${name}: it has no rows, need at least one`)
  return { kind: 'records', name, records }
}

function decode(name: string, bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Error(`Cannot use ${name}: it is empty, need rows`)
  if (bytes.length > MAX_BYTES) throw new Error(`Cannot use ${name}: it has ${bytes.length} bytes, need at most ${MAX_BYTES}`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Error(`Cannot use ${name}: it is not UTF-8, need that encoding`, { cause })
  }
}

function readLines(name: string, text: string): DataRecord[] {
  return text.split('\n').flatMap((source, index) => {
    if (source.trim() === '') return []
    const line = index + 1
    return [{ line, fields: objectOf(parseJson(source, `line ${line} of ${name}`), `line ${line} of ${name}`) }]
  })
}

function readArray(name: string, text: string): DataRecord[] {
  const json = parseJson(text, name)
  if (!Array.isArray(json)) throw new Error(`Cannot read ${name}: it is no JSON array, need an array of objects, or one object a line in a .jsonl file`)
  return json.map((value: unknown, index) => ({ line: index + 1, fields: objectOf(value, `element ${index + 1} of ${name}`) }))
}

function parseJson(source: string, where: string): unknown {
  try {
    return JSON.parse(source)
  } catch (cause) {
    // The parser's own line is that within the row.
    const message = (cause instanceof Error ? cause.message : String(cause)).replace(/ \(line \d+ column \d+\)$/, '')
    throw new Error(`Cannot read ${where}: ${message}, need JSON`, { cause })
  }
}

function objectOf(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`Cannot read ${where}: it is ${kindOf(value)}, need an object such as {"text": "..."}`)
  return { ...value }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

/** A quoted field may hold line breaks, so rows are counted, the header being row 1. */
async function readTable(name: string, text: string): Promise<DataRecord[]> {
  const { default: papa } = await import('papaparse')
  const { data, errors, meta } = papa.parse<Record<string, unknown>>(text, { header: true, skipEmptyLines: 'greedy' })
  const [error] = errors.filter(({ code }) => code !== 'UndetectableDelimiter') // one column has no delimiter
  if (error) throw new Error(`Cannot read row ${(error.row ?? 0) + 2} of ${name}: ${error.message}, need the columns ${(meta.fields ?? []).join(', ')}`)
  return data.map((fields, index) => ({ line: index + 2, fields }))
}
