import { useState } from 'preact/hooks'
import { BOOK_NAME } from '../../data/book.ts'
import { whole } from '../../ui/format.ts'
import type { SessionView, TextSource } from '../session-view.ts'

/** The data to train on: the bundled book, or a file that is chosen or dropped. */
export function SourceForm({ session, locked }: { readonly session: SessionView; readonly locked: boolean }) {
  const [over, setOver] = useState(false)
  const source = session.source.value
  const validation = session.validationSource.value
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
        <span class="quiet">Data</span> <strong>{source ? source.name : problem ? 'none' : 'loading …'}</strong> {source && <span class="quiet">{amountOf(source)}</span>}
      </p>
      <div class="source-choice">
        <label>
          Train on a file of your own, a text or rows in JSONL or CSV: choose it or drop it here
          <FileInput name="train_file" locked={locked} onFile={(file) => void session.useFile(file)} />
        </label>
        {source?.name !== BOOK_NAME && (source || problem) && (
          <button type="button" class="quiet-button" disabled={locked} onClick={() => void session.useBook()}>
            {source ? 'Back to the bundled book' : 'Try the bundled book again'}
          </button>
        )}
      </div>
      <details>
        <summary>Measure on a file of its own</summary>
        {validation ? (
          <p>
            <strong>{validation.name}</strong> <span class="quiet">{amountOf(validation)}</span>{' '}
            <button type="button" class="quiet-button" disabled={locked} onClick={() => void session.useValidationFile(null)}>
              Hold out a part of the data instead
            </button>
          </p>
        ) : (
          <p class="quiet">Without one, the end of the data is held out.</p>
        )}
        <FileInput name="validation_file" locked={locked} onFile={(file) => void session.useValidationFile(file)} />
      </details>
      {problem && (
        <p class="error" role="alert">
          {problem}. {source && 'The data stays as it was.'}
        </p>
      )}
    </div>
  )
}

function amountOf({ amount, unit }: TextSource): string {
  return `${whole(amount)} ${amount === 1 ? unit.slice(0, -1) : unit}`
}

function FileInput({ name, locked, onFile }: { readonly name: string; readonly locked: boolean; onFile(file: File): void }) {
  return (
    <input
      type="file"
      name={name}
      aria-label={name === 'train_file' ? 'File to train on' : 'File to measure on'}
      disabled={locked}
      onChange={({ currentTarget }) => {
        const file = currentTarget.files?.[0]
        // Emptied, so that the same file can be chosen again after it was mended.
        currentTarget.value = ''
        if (file) onFile(file)
      }}
    />
  )
}
