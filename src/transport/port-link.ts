import type { Link } from './link.ts'
import { LinkBase, ROOM_BYTES } from './link-base.ts'
import { channelLink, type DataChannel } from './channel-link.ts'

/**
 * A link over a port to the page, where a browser cannot transfer data channels: the page carries each frame between the port
 * and the channel. Frames are moved, not copied again; besides them the two sides say:
 */
type Notice =
  /** Page to Worker: the channel is open. */
  | { readonly type: 'open' }
  /** Page to Worker: so many bytes have been handed to the channel. */
  | { readonly type: 'sent'; readonly bytes: number }
  /** Both ways. */
  | { readonly type: 'closed'; readonly cause: string }

/** The Worker's end; the other end of the port is `forwardChannel`'s. */
export function portLink(port: MessagePort, name: string): Link {
  return new PortLink(port, name)
}

/** Page side: carries frames between a channel and a port until either closes. */
export function forwardChannel(channel: DataChannel, port: MessagePort): void {
  const link = channelLink(channel, 'the other side')
  const tell = (notice: Notice) => port.postMessage(notice)
  let tail: Promise<void> = Promise.resolve()
  /** One after the other; when the link is closed the rest is void, and the link's own onClose tells. */
  const afterwards = (work: () => Promise<void> | void) => {
    tail = tail.then(work).catch(() => {})
  }
  port.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data instanceof ArrayBuffer) {
      afterwards(async () => {
        await link.drained()
        link.send(new Uint8Array(data))
        tell({ type: 'sent', bytes: data.byteLength })
      })
    } else if (isNotice(data) && data.type === 'closed') afterwards(() => link.close(data.cause))
  }
  link.onFrame = (frame) => port.postMessage(frame.buffer, [frame.buffer])
  link.onClose = ({ message }) => {
    tell({ type: 'closed', cause: message })
    // Closing at once would lose the notice.
    setTimeout(() => port.close(), 1_000)
  }
  link.drained().then(
    () => tell({ type: 'open' }),
    () => {}, // onClose tells
  )
}

class PortLink extends LinkBase {
  readonly #port: MessagePort
  #open = false
  /** Bytes given to the page and not yet to the channel. */
  #onTheWay = 0

  constructor(port: MessagePort, name: string) {
    super(name)
    this.#port = port
    port.onmessage = ({ data }: MessageEvent<unknown>) => this.#hear(data)
  }

  get open(): boolean {
    return this.#open
  }

  protected transmit(frame: Uint8Array): void {
    const bytes = new Uint8Array(frame)
    this.#onTheWay += bytes.byteLength
    this.#port.postMessage(bytes.buffer, [bytes.buffer])
  }

  protected roomy(): boolean {
    return this.#open && this.#onTheWay <= ROOM_BYTES
  }

  protected shut(cause: string): void {
    this.#open = false
    this.#port.postMessage({ type: 'closed', cause } satisfies Notice)
  }

  #hear(data: unknown): void {
    if (data instanceof ArrayBuffer) return this.deliver(new Uint8Array(data))
    if (!isNotice(data)) return
    if (data.type === 'open') this.#open = true
    if (data.type === 'sent') this.#onTheWay -= data.bytes
    if (data.type === 'closed') {
      this.#open = false
      this.ended(data.cause)
      this.#port.close()
    } else this.wake()
  }
}

function isNotice(data: unknown): data is Notice {
  return typeof data === 'object' && data !== null && 'type' in data && ['open', 'sent', 'closed'].includes(String(data.type))
}
