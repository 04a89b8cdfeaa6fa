import { type OptionField, type OptionGroup, type OptionName, optionFields } from '../../protocol/options.ts'
import type { SessionView } from '../session-view.ts'
import { Field } from './option-field.tsx'

const GROUPS: readonly (readonly [group: OptionGroup, title: string])[] = [
  ['run', 'Run and log'],
  ['data', 'Data'],
  ['model', 'Model'],
  ['tuning', 'LoRA and frozen parameters'],
  ['optimizer', 'Optimizer and batch'],
  ['schedule', 'Learning-rate schedule'],
  ['evaluation', 'Evaluation'],
  ['samples', 'Generated text'],
  ['ranks', 'Ranks and ring'],
]

/** What most people set; the rest lies in groups below. */
const FIRST: readonly OptionName[] = ['max_steps', 'learning_rate', 'tokenizer', 'block_size', 'n_layer', 'n_embd']

export function OptionForm({ session }: { readonly session: SessionView }) {
  const first = FIRST.flatMap((name) => optionFields.filter((field) => field.name === name))
  return (
    <>
      <Fields fields={first} session={session} />
      <p class="more-title">All other options, by group</p>
      {GROUPS.map(([group, title]) => (
        <details key={group} class="fold group">
          <summary>{title}</summary>
          <Fields fields={optionFields.filter((field) => field.group === group && !FIRST.includes(field.name) && field.name !== 'preset')} session={session} />
        </details>
      ))}
    </>
  )
}

/** A new preset, or a checkpoint, fills the fields anew: what was typed and refused is gone with the old one. */
function Fields({ fields, session }: { readonly fields: readonly OptionField[]; readonly session: SessionView }) {
  const filling = session.resumesFrom.value?.at.join('/') ?? session.options.value.preset
  return (
    <div class="fields">
      {fields.map((field) => (
        <Field key={`${filling} ${field.name}`} field={field} session={session} />
      ))}
    </div>
  )
}
