/** What shells report for a process that a signal ended: 128 plus the signal's number. */
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * The first Ctrl-C calls `first`; a second one, or any other request to end, ends the process at once. Ending runs the exit hooks, and
 * Playwright's kills the browser.
 */
export function onInterrupt(first: () => void): Disposable {
  let asked = false
  const interrupt = (): void => {
    if (asked) process.exit(EXIT_BY_SIGNAL.SIGINT)
    asked = true
    first()
  }
  const end = (signal: NodeJS.Signals): void => process.exit(signal === 'SIGHUP' ? EXIT_BY_SIGNAL.SIGHUP : EXIT_BY_SIGNAL.SIGTERM)
  process.on('SIGINT', interrupt).on('SIGTERM', end).on('SIGHUP', end)
  return {
    [Symbol.dispose]: () => {
      process.off('SIGINT', interrupt).off('SIGTERM', end).off('SIGHUP', end)
    },
  }
}
