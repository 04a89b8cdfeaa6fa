import type { Link } from './link.ts'
import { LinkBase, LOW_WATER_BYTES, ROOM_BYTES } from './link-base.ts'

/** What a link needs of an RTCDataChannel. */
export type DataChannel = Pick<RTCDataChannel, 'readyState' | 'bufferedAmount' | 'bufferedAmountLowThreshold' | 'binaryType' | 'send' | 'close' | 'addEventListener'>

/**
 * A link over a data channel, on the page or, after a transfer, in a Worker. The channel may still be connecting:
 * `drained` waits until it is open.
 */
export function channelLink(channel: DataChannel, name: string): Link {
  return new ChannelLink(channel, name)
}

class ChannelLink extends LinkBase {
  readonly #channel: DataChannel
  #error = ''

  constructor(channel: DataChannel, name: string) {
    super(name)
    this.#channel = channel
    channel.binaryType = 'arraybuffer'
    channel.bufferedAmountLowThreshold = LOW_WATER_BYTES
    channel.addEventListener('open', () => this.wake())
    channel.addEventListener('bufferedamountlow', () => this.wake())
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      // Text is no frame; an empty one is counted as garbage by whoever reads frames.
      this.deliver(data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(0))
    })
    channel.addEventListener('error', (event) => {
      this.#error = event.error.message
    })
    channel.addEventListener('close', () => this.ended(this.#error || 'the connection was closed'))
    if (channel.readyState === 'closed') this.ended('the connection was closed')
  }

  get open(): boolean {
    return this.#channel.readyState === 'open'
  }

  protected transmit(frame: Uint8Array<ArrayBuffer>): void {
    this.#channel.send(frame)
  }

  protected roomy(): boolean {
    return this.open && this.#channel.bufferedAmount <= ROOM_BYTES
  }

  protected shut(): void {
    this.#channel.close()
  }
}
