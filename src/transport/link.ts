/**
 * Ordered bytes between two ranks. A frame is one message; bodies are WebRTC data channels, message ports and
 * loopback pairs. A link never throws into its user: failures arrive once, through `onClose`.
 */
export interface Link {
  /** For messages to people: who is at the other end. */
  readonly name: string
  readonly open: boolean
  /** Takes the bytes at once (the caller may reuse the buffer when this returns). Throws when the link is closed. */
  send(frame: Uint8Array): void
  /** Resolves when at most the high-water mark is buffered; at once when it already is. Rejects on close or abort. */
  drained(signal?: AbortSignal): Promise<void>
  /** Receives each frame in order; the bytes belong to the receiver. Frames that arrive before it is set are kept. */
  onFrame: ((frame: Uint8Array<ArrayBuffer>) => void) | null
  /** Called once. */
  onClose: ((cause: Error) => void) | null
  close(cause?: string): void
}
