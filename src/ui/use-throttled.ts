import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'

/** Eyes read no faster; a small model makes far more updates than that in a second. */
export const REDRAW_MS = 250

/** The signal's value, drawn again at most every REDRAW_MS; the last value always arrives. */
export function useThrottled<T>(source: ReadonlySignal<T>): T {
  const [value, setValue] = useState<T>(() => source.peek())
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let shownAt = Number.NEGATIVE_INFINITY
    const show = (): void => {
      timer = undefined
      shownAt = performance.now()
      setValue(() => source.peek())
    }
    const stop = source.subscribe(() => {
      timer ??= setTimeout(show, Math.max(0, shownAt + REDRAW_MS - performance.now()))
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [source])
  return value
}
