/** What went wrong on a rank, as every rank and the terminal hear it. */
export class RankFailure extends Error {
  readonly rank: number
  /** The thrown error's own message. */
  readonly reason: string
  /** Where it was thrown, by that rank's stack; may be cut. */
  readonly remoteStack: string

  constructor(rank: number, reason: string, remoteStack: string, options: ErrorOptions = {}) {
    super(`rank ${rank} failed: ${reason}\n${remoteStack}`, options)
    this.name = 'RankFailure'
    this.rank = rank
    this.reason = reason
    this.remoteStack = remoteStack
  }
}

const FAILURE = /rank (\d+) failed: ([^\n]*)\n([\s\S]*)$/

/** What `cause`, thrown on `rank`, means: a failure of another rank that has come through the ring, or one of its own. */
export function failureOf(rank: number, cause: unknown): RankFailure {
  if (cause instanceof RankFailure) return cause
  const [, origin, reason, stack] = FAILURE.exec(cause instanceof Error ? cause.message : String(cause)) ?? []
  if (origin !== undefined) return new RankFailure(Number(origin), reason ?? '', stack ?? '', { cause })
  const message = cause instanceof Error ? cause.message : String(cause)
  // A message of several lines would be taken for the stack.
  return new RankFailure(rank, message.replaceAll(/\s*\n\s*/g, ' '), framesOf(cause, message), { cause })
}

/** The stack without the message that V8 puts before it. */
function framesOf(cause: unknown, message: string): string {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  const at = stack.indexOf(message)
  return at < 0 ? stack : stack.slice(at + message.length).replace(/^\n/, '')
}
