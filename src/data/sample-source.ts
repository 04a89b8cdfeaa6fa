import type { DataFile, DataRecord } from './data-file.ts'

export interface ChatMessage {
  readonly role: string
  readonly content: string
}

/** What a row asks for; `line` is where it stands in its file. */
export type SampleSource = { readonly line: number } & (
  | { readonly kind: 'ids'; readonly ids: readonly number[]; readonly labels: readonly number[] | null }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'completion'; readonly prompt: string; readonly completion: string }
  /** Messages from `answersFrom` on may be learned: those of the assistant. */
  | { readonly kind: 'chat'; readonly messages: readonly ChatMessage[]; readonly answersFrom: number }
)

type Fields = DataRecord['fields']
type Records = Extract<DataFile, { kind: 'records' }>

/**
 * Reads the rows of a file. Its columns say what they are, as in TRL: `input_ids` (with `labels`), `messages`, `prompt` and `completion`
 * (texts or messages), or a text under `textField`.
 * @throws a sentence with the line of the first row that does not read.
 */
export function sampleSources({ name, records }: Records, textField: string): SampleSource[] {
  return records.map(({ line, fields }) => {
    const fail = (is: string, need: string): never => {
      throw new Error(`Cannot use line ${line} of ${name}: ${is}, need ${need}`)
    }
    return readRow(fields, { line, textField, fail })
  })
}

interface Reading {
  readonly line: number
  readonly textField: string
  fail(is: string, need: string): never
}

function readRow(fields: Fields, reading: Reading): SampleSource {
  const { line, textField, fail } = reading
  if (fields['input_ids'] !== undefined) return readIds(fields, reading)
  if (fields['messages'] !== undefined) return { line, kind: 'chat', messages: messagesOf(fields['messages'], 'messages', fail), answersFrom: 0 }
  if (fields['prompt'] !== undefined && fields['completion'] !== undefined) return readCompletion(fields, reading)
  const text = fields[textField]
  if (typeof text === 'string' && text !== '') return { line, kind: 'text', text }
  if (text !== undefined) return fail(text === '' ? `${textField} is empty` : `${textField} is ${JSON.stringify(text)}`, 'a text')
  const names = Object.keys(fields).join(', ') || 'no columns'
  return fail(`it has ${names}`, `input_ids, messages, prompt and completion, or ${textField} (another column: dataset_text_field)`)
}

function readIds(fields: Fields, { line, fail }: Reading): SampleSource {
  const ids = integers(fields['input_ids'])
  if (!ids || ids.length < 2 || ids.some((id) => id < 0)) return fail('input_ids is no list of token ids', 'at least two whole numbers from 0')
  const given = fields['labels']
  if (given === undefined || given === null) return { line, kind: 'ids', ids, labels: null }
  const labels = integers(given)
  if (!labels || labels.some((label) => label < 0 && label !== -100)) return fail('labels is no list of token ids', 'whole numbers from 0, or -100 where nothing is predicted')
  if (labels.length !== ids.length) return fail(`it has ${ids.length} input_ids and ${labels.length} labels`, 'as many')
  return { line, kind: 'ids', ids, labels }
}

function integers(value: unknown): number[] | null {
  if (!Array.isArray(value)) return null
  const numbers = value.filter((one): one is number => Number.isSafeInteger(one))
  return numbers.length === value.length ? numbers : null
}

function readCompletion({ prompt, completion }: Fields, { line, fail }: Reading): SampleSource {
  if (Array.isArray(prompt) || Array.isArray(completion)) {
    const before = messagesOf(prompt, 'prompt', fail)
    return { line, kind: 'chat', messages: [...before, ...messagesOf(completion, 'completion', fail)], answersFrom: before.length }
  }
  if (typeof prompt !== 'string') return fail(`prompt is ${JSON.stringify(prompt)}`, 'a text or messages')
  if (typeof completion !== 'string' || completion === '') return fail(`completion is ${JSON.stringify(completion)}`, 'a text that is not empty')
  return { line, kind: 'completion', prompt, completion }
}

function messagesOf(value: unknown, field: string, fail: Reading['fail']): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) return fail(`${field} is no list of messages`, 'at least one {"role": ..., "content": ...}')
  return value.map((message: unknown, index) => {
    const { role, content }: { readonly role?: unknown; readonly content?: unknown } = Object(message)
    if (typeof role !== 'string' || role === '') return fail(`message ${index + 1} of ${field} has no role`, 'one, such as user or assistant')
    if (typeof content !== 'string') return fail(`the content of message ${index + 1} of ${field} is no text`, 'a text')
    return { role, content }
  })
}
