import { useState } from 'preact/hooks'
import { BOOK_NAME } from '../../data/book.ts'
import { whole } from '../../ui/format.ts'
import type { SessionView } from '../session-view.ts'

/** The text to train on: the bundled book, or a file that is chosen or dropped. */
export function SourceForm({ session, locked }: { readonly session: SessionView; readonly locked: boolean }) {
  const [over, setOver] = useState(false)
  const source = session.source.value
  const problem = session.sourceProblem.value
  const drag = (event: DragEvent, inside: boolean): void => {
    event.preventDefault()
    setOver(inside && !locked)
  }
  const drop = (event: DragEvent): void => {
    drag(event, false)
    const file = event.dataTransfer?.files[0]
    if (file && !locked) void session.useFile(file)
  }
  return (
    <div class={`source ${over ? 'over' : ''}`} onDragOver={(event) => drag(event, true)} onDragLeave={(event) => drag(event, false)} onDrop={drop}>
      <p>
        <span class="quiet">Text</span> <strong>{source ? source.name : problem ? 'none' : 'loading …'}</strong>{' '}
        {source && <span class="quiet">{whole(source.characters)} characters</span>}
      </p>
      <div class="source-choice">
        <label>
          Train on a text file of your own: choose it or drop it here
          <input
            type="file"
            disabled={locked}
            onChange={({ currentTarget }) => {
              const file = currentTarget.files?.[0]
              // Emptied, so that the same file can be chosen again after it was mended.
              currentTarget.value = ''
              if (file) void session.useFile(file)
            }}
          />
        </label>
        {source?.name !== BOOK_NAME && (source || problem) && (
          <button type="button" class="quiet-button" disabled={locked} onClick={() => void session.useBook()}>
            {source ? 'Back to the bundled book' : 'Try the bundled book again'}
          </button>
        )}
      </div>
      {problem && (
        <p class="error" role="alert">
          {problem}. {source && 'The text stays as it was.'}
        </p>
      )}
    </div>
  )
}
