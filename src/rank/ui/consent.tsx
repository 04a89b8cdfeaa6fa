import { useEffect, useState } from 'preact/hooks'
import { PreflightList } from '../../ui/preflight-list.tsx'
import type { RankAppProps } from './app.tsx'

const MAX_NAME = 40

/** What this tab will do, said before it does it. */
export function Consent({ rank, preflight, suggestedName }: RankAppProps) {
  const [name, setName] = useState(suggestedName)
  // The remembered name comes late, and never over one that is being typed.
  useEffect(() => setName((typed) => typed || suggestedName), [suggestedName])
  const broken = preflight?.some(({ ok }) => !ok) ?? false
  return (
    <section class="card">
      <h1>Lend this tab to train a language model?</h1>
      <dl class="terms">
        <div>
          <dt>It computes</dt>
          <dd>on this device’s graphics card or processor. That takes power and battery, and the device may get warm.</dd>
        </div>
        <div>
          <dt>It talks to the other tabs</dt>
          <dd>in the room directly, in numbers. They can see this device’s network address.</dd>
        </div>
        <div>
          <dt>It receives the training text</dt>
          <dd>and reads nothing else on this device. It keeps nothing but the name that you type.</dd>
        </div>
        <div>
          <dt>You can leave at any time</dt>
          <dd>with a button or by closing the tab. The others go on without it.</dd>
        </div>
      </dl>
      <PreflightList items={preflight} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void rank.join(name.trim())
        }}
      >
        <label for="name">Your name in the room</label>
        <input
          id="name"
          type="text"
          value={name}
          maxLength={MAX_NAME}
          placeholder="a guest"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
          autoComplete="nickname"
        />
        <button type="submit" disabled={preflight === null || broken} aria-describedby="join-hint">
          Join
        </button>
        <p id="join-hint" class="quiet" hidden={!broken}>
          {broken ? 'This tab can join once the points above are mended.' : ''}
        </p>
      </form>
    </section>
  )
}
