import { useState } from 'preact/hooks'
import { type OptionField, type OptionGroup, optionFields } from '../../protocol/options.ts'
import { isPresetName, presets } from '../../protocol/presets.ts'
import type { SessionView } from '../session-view.ts'

const GROUPS: Readonly<Record<OptionGroup, string>> = {
  run: 'Run',
  data: 'Data',
  model: 'Model',
  optimizer: 'Optimizer',
  schedule: 'Learning-rate schedule',
  evaluation: 'Evaluation',
  samples: 'Generated text',
  ranks: 'Ranks and ring',
}

/** What most people set; the rest lies in groups below. */
const FIRST = ['max_steps', 'learning_rate', 'tokenizer']

export function OptionForm({ session, locked }: { readonly session: SessionView; readonly locked: boolean }) {
  const preset = session.options.value.preset
  const groups = (Object.keys(GROUPS) as OptionGroup[]).map((group) => ({
    group,
    fields: optionFields.filter((field) => field.group === group && !FIRST.includes(field.name) && field.name !== 'preset'),
  }))
  return (
    <fieldset disabled={locked}>
      <label>
        Preset
        <select value={preset} onChange={({ currentTarget }) => session.setOption('preset', currentTarget.value)}>
          {Object.entries(presets).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <small>{isPresetName(preset) ? presets[preset].help : ''}</small>
      </label>
      {optionFields
        .filter((field) => FIRST.includes(field.name))
        .map((field) => (
          <Field key={`${preset} ${field.name}`} field={field} session={session} />
        ))}
      {groups.map(({ group, fields }) => (
        <details key={group}>
          <summary>{GROUPS[group]}</summary>
          {fields.map((field) => (
            <Field key={`${preset} ${field.name}`} field={field} session={session} />
          ))}
        </details>
      ))}
    </fieldset>
  )
}

function Field({ field, session }: { readonly field: OptionField; readonly session: SessionView }) {
  const [error, setError] = useState('')
  const value = session.options.value[field.name]
  const set = (next: unknown): void => {
    try {
      session.setOption(field.name, next)
      setError('')
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    }
  }
  const shared = { 'aria-invalid': error ? true : undefined, 'aria-describedby': `${field.name}-help` } as const
  const help = (
    <small id={`${field.name}-help`}>
      {error ? <span class="error">{error}</span> : field.help} <code>{field.name}</code>
    </small>
  )
  if (field.kind === 'boolean') {
    return (
      <label>
        <input type="checkbox" role="switch" checked={value === true} onChange={({ currentTarget }) => set(currentTarget.checked)} {...shared} /> {field.label}
        {help}
      </label>
    )
  }
  return (
    <label>
      {field.label}
      {field.kind === 'choice' ? (
        <select value={String(value)} onChange={({ currentTarget }) => set(currentTarget.value)} {...shared}>
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={field.kind === 'text' ? 'text' : 'decimal'}
          defaultValue={value === null ? '' : String(value)}
          placeholder={field.nullable ? 'automatic' : ''}
          onChange={({ currentTarget }) => set(currentTarget.value)}
          {...shared}
        />
      )}
      {help}
    </label>
  )
}
