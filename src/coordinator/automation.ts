import { effect } from '@preact/signals'
import type { Session } from './session.ts'

/** Presses Start once, when so many ranks are ready and the data is there: for the command line. */
export function automate(session: Session, { ranks, validates }: { readonly ranks: number; readonly validates: boolean }): void {
  const stop = effect(() => {
    if (session.ready.value < ranks || session.source.value === null || (validates && session.validationSource.value === null) || session.phase.value !== 'setup') return
    // Not inside the effect: starting reads and writes signals of its own.
    queueMicrotask(() => {
      stop()
      void session.start()
    })
  })
}
