import { useState } from 'preact/hooks'
import { compact } from '../../ui/format.ts'
import type { SessionView } from '../session-view.ts'

/** The text to train on: the bundled book, or a file that is chosen or dropped. */
export function SourceForm({ session, locked }: { readonly session: SessionView; readonly locked: boolean }) {
  const [error, setError] = useState('')
  const source = session.source.value
  const take = (action: () => Promise<void>): void => {
    setError('')
    action().catch((cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)))
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    const file = event.dataTransfer?.files[0]
    if (file && !locked) take(() => session.useFile(file))
  }
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <p>
        Text: <strong>{source ? source.name : 'loading …'}</strong> {source && <span class="quiet">{compact(source.characters)} characters</span>}
      </p>
      <label>
        Use your own text file (choose it or drop it here)
        <input
          type="file"
          disabled={locked}
          onChange={({ currentTarget }) => {
            const file = currentTarget.files?.[0]
            if (file) take(() => session.useFile(file))
          }}
        />
      </label>
      <button type="button" class="secondary" disabled={locked} onClick={() => take(() => session.useBook())}>
        Use the bundled book
      </button>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
