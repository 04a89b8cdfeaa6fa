import { useState } from 'preact/hooks'
import type { OptionField, OptionValue } from '../../protocol/options.ts'
import type { SessionView } from '../session-view.ts'

interface FieldProps {
  readonly field: OptionField
  readonly session: SessionView
}

/** What was typed and refused, and why; the session keeps its last good value. */
interface Refusal {
  readonly draft: OptionValue
  readonly sentence: string
}

/** One option: its label, its control, its help or its error, and the name that Hugging Face gives it. */
export function Field({ field, session }: FieldProps) {
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const value = session.options.value[field.name]
  const set = (draft: OptionValue): void => {
    try {
      session.setOption(field.name, draft)
      setRefusal(null)
    } catch (cause) {
      setRefusal({ draft, sentence: `${cause instanceof Error ? cause.message : String(cause)}. It stays at ${shown(value, field)}.` })
    }
  }
  const id = `option-${field.name}`
  const control = <Control id={id} field={field} value={refusal ? refusal.draft : value} invalid={refusal !== null} onChange={set} />
  const help = (
    <small id={`${id}-help`} class={refusal ? 'error' : ''}>
      {refusal ? refusal.sentence : helpOf(field)}
    </small>
  )
  const name = <code title="The option’s name on the command line and in the address">{field.name}</code>
  return (
    <div class={`field ${field.kind}`}>
      <label for={id}>
        {field.kind === 'boolean' && control} {field.label}
      </label>
      {name}
      {field.kind !== 'boolean' && control}
      {help}
    </div>
  )
}

interface ControlProps {
  readonly id: string
  readonly field: OptionField
  readonly value: OptionValue
  readonly invalid: boolean
  onChange(draft: OptionValue): void
}

function Control({ id, field, value, invalid, onChange }: ControlProps) {
  const shared = { id, 'aria-invalid': invalid ? true : undefined, 'aria-describedby': `${id}-help` } as const
  switch (field.kind) {
    case 'boolean':
      return <input type="checkbox" role="switch" checked={value === true} onChange={({ currentTarget }) => onChange(currentTarget.checked)} {...shared} />
    case 'choice':
      return (
        <select value={String(value)} onChange={({ currentTarget }) => onChange(currentTarget.value)} {...shared}>
          {field.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )
    case 'integer':
    case 'number':
    case 'text':
      return (
        <input
          type="text"
          inputMode={keyboard(field)}
          autoComplete="off"
          value={value === null ? '' : String(value)}
          placeholder={field.nullable ? 'automatic' : ''}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
          {...shared}
        />
      )
    default:
      return field.kind satisfies never
  }
}

/** The schema marks Tabring's own options for readers of Hugging Face's names; the form shows them all alike. */
function helpOf({ help }: OptionField): string {
  const own = help.replace(/^Tabring: /, '')
  return own.charAt(0).toUpperCase() + own.slice(1)
}

/** Phones' number pads have neither a minus nor an e. */
function keyboard({ kind, min }: OptionField): 'text' | 'numeric' | 'decimal' {
  if (kind === 'text' || (min ?? 0) < 0) return 'text'
  return kind === 'integer' ? 'numeric' : 'decimal'
}

function shown(value: OptionValue, field: OptionField): string {
  if (value === null || value === '') return field.nullable ? 'automatic' : 'empty'
  return String(value)
}
