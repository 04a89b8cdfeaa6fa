import { type PresetName, presets } from '../../protocol/presets.ts'
import type { SessionView } from '../session-view.ts'

/** Options that start together, each with what it is good for. */
export function PresetChoice({ session }: { readonly session: SessionView }) {
  const current = session.options.value.preset
  const names = Object.keys(presets) as PresetName[] // the record has exactly these keys
  return (
    <fieldset class="presets plain">
      <legend>Preset</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="radio"
            name="preset"
            value={name}
            checked={name === current}
            onChange={() => session.setOption('preset', name)}
            aria-labelledby={`preset-name-${name}`}
            aria-describedby={`preset-${name}`}
          />
          <span>
            <strong id={`preset-name-${name}`}>{presets[name].label}</strong>
            <small id={`preset-${name}`}>{presets[name].help}</small>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
