import type { DataChannel } from '../channel-link.ts'

/** Two joined data channels in one process; what is sent stays in the buffer until `flush`. */
export function fakeChannelPair(): [FakeChannel, FakeChannel] {
  const left = new FakeChannel()
  const right = new FakeChannel()
  left.other = right
  right.other = left
  return [left, right]
}

export class FakeChannel extends EventTarget implements DataChannel {
  readyState: RTCDataChannelState = 'connecting'
  bufferedAmountLowThreshold = 0
  binaryType: BinaryType = 'arraybuffer'
  bufferedAmount = 0
  other: FakeChannel | null = null
  #buffer: ArrayBuffer[] = []

  open(): void {
    this.readyState = 'open'
    this.dispatchEvent(new Event('open'))
  }

  send(data: string | Blob | ArrayBuffer | ArrayBufferView): void {
    if (!ArrayBuffer.isView(data)) throw new Error('this fake takes bytes only')
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice()
    this.#buffer.push(bytes.buffer)
    this.bufferedAmount += bytes.byteLength
  }

  /** Lets everything arrive. */
  flush(): void {
    const sent = this.#buffer
    this.#buffer = []
    this.bufferedAmount = 0
    for (const data of sent) this.other?.dispatchEvent(new MessageEvent('message', { data }))
    this.dispatchEvent(new Event('bufferedamountlow'))
  }

  close(): void {
    if (this.readyState === 'closed') return
    this.flush()
    this.readyState = 'closed'
    this.dispatchEvent(new Event('close'))
    this.other?.close()
  }
}
