/** A promise with its ends in hand; `Promise.withResolvers` is missing in Node 20. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(cause: Error): void
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (cause: Error) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  // A failure that nobody waits for yet must not end the process; whoever awaits still gets it.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
