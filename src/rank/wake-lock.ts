/**
 * Keeps the screen on while training, where the browser allows it; the lock is lost when the tab is hidden, and taken again
 * when it is shown. @returns a function that lets go for good.
 */
export function keepAwake(onChange: (held: boolean) => void): () => void {
  let lock: WakeLockSentinel | null = null
  let wanted = true
  const take = async (): Promise<void> => {
    if (!wanted || document.hidden || lock || !('wakeLock' in navigator)) return
    try {
      lock = await navigator.wakeLock.request('screen')
    } catch {
      return onChange(false) // battery saver or a policy forbids it; training goes on without
    }
    if (!wanted) return void lock.release()
    onChange(true)
    lock.addEventListener('release', () => {
      lock = null
      onChange(false)
    })
  }
  const onVisible = (): void => void take()
  document.addEventListener('visibilitychange', onVisible)
  void take()
  return () => {
    wanted = false
    document.removeEventListener('visibilitychange', onVisible)
    void lock?.release()
  }
}
