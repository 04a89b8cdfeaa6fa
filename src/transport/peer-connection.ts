import SimplePeer from 'simple-peer'
import type { Instance, SignalData } from 'simple-peer'
import { deferred } from '../base/deferred.ts'
import { type ControlLink, controlLink } from './control-link.ts'
import { LinkBase, ROOM_BYTES } from './link-base.ts'
import { forwardChannel } from './port-link.ts'
import { type ConnectionSignal, offersOf } from './offers.ts'
import type { Signalling } from './signalling.ts'

/** Channel id of the bulk channel; both sides create it, so it needs no negotiation. */
const BULK_ID = 1000

export interface OpenPeerOptions {
  readonly signalling: Signalling
  readonly remote: string
  /** One side of a connection is. */
  readonly initiator: boolean
  /** Equal on both sides, new for every connection: offers of an older one are not taken for this one's. */
  readonly session: string
  readonly iceServers: readonly RTCIceServer[]
  readonly connectDeadlineMs: number
  /** Larger blobs are refused. */
  readonly maxBlobBytes: number
  /** Takes the bulk channel at once, to hand it to a Worker: a channel, or a port where the browser cannot transfer channels. */
  readonly bulk?: BulkTaker
}

export interface BulkTaker {
  /** See `canTransferChannels`; the page carries the channel where it is false. */
  readonly transferable: boolean
  take(body: RTCDataChannel | MessagePort): void
}

export interface OpenedPeer {
  readonly control: ControlLink
  /**
   * Resolves when the control channel is open, before the first message is delivered to `control`; rejects with a sentence when it
   * does not come up. Attach at once.
   */
  readonly ready: Promise<void>
  close(): void
}

/** What simple-peer keeps to itself and a bulk channel needs. */
interface Inside {
  readonly _pc: RTCPeerConnection
  readonly _channel: RTCDataChannel | null
}

/** Connects to `remote`; the only door to simple-peer. */
export function openPeer(options: OpenPeerOptions): OpenedPeer {
  const { signalling, remote, initiator, session, iceServers, bulk } = options
  // Without objectMode its stream may merge two messages into one.
  const peer = new SimplePeer({ initiator, trickle: true, objectMode: true, config: { iceServers: [...iceServers] } })
  const inside = peer as unknown as Inside
  if (bulk) handOver(inside._pc.createDataChannel('bulk', { negotiated: true, id: BULK_ID }), bulk)
  const link = new PeerLink(peer, inside, remote)
  const offers = offersOf(signalling)
  peer.on('signal', (signal) => offers.send(remote, session, signal))
  const stop = offers.listen(remote, session, (signal) => accept(peer, signal))
  const ready = whenConnected(peer, inside, options, stop)
  // simple-peer may hand over what the other side says before it calls itself connected, as the other side was first: whoever waits
  // for that, and has attached to it by now, comes before what is said.
  peer.once('connect', () => queueMicrotask(() => link.release()))
  const control = controlLink(link, { maxBlobBytes: options.maxBlobBytes })
  return {
    control,
    ready,
    close: () => {
      stop()
      control.close()
      // simple-peer drops what is queued when it is destroyed; a goodbye just sent must leave first.
      setTimeout(() => peer.destroy(), 50)
    },
  }
}

/** Whether this browser can hand a data channel to a Worker; tries with one that is thrown away. Ask once. */
export function canTransferChannels(): boolean {
  const connection = new RTCPeerConnection()
  const channel = connection.createDataChannel('probe')
  try {
    new MessageChannel().port1.postMessage(channel, [channel as unknown as Transferable])
    return true
  } catch {
    return false // a DataCloneError: not transferable here
  } finally {
    connection.close()
  }
}

/** A channel can be transferred only in the task that made it, before anything else is done with it. */
function handOver(channel: RTCDataChannel, { transferable, take }: BulkTaker): void {
  if (transferable) return take(channel)
  const { port1, port2 } = new MessageChannel()
  forwardChannel(channel, port1)
  take(port2)
}

function accept(peer: Instance, signal: ConnectionSignal): void {
  if (!peer.destroyed) peer.signal(signal as SignalData)
}

function whenConnected(peer: Instance, { _pc }: Inside, { remote, connectDeadlineMs }: OpenPeerOptions, stop: () => void): Promise<void> {
  const connected = deferred<void>()
  let iceError = ''
  _pc.addEventListener('icecandidateerror', (event) => {
    iceError = ` (ICE: ${event.errorText || event.errorCode})`
  })
  const fail = (why: string): void => connected.reject(new Error(`Cannot connect to ${remote.slice(0, 8)}: ${why}${iceError}`))
  const timer = setTimeout(() => {
    fail(`no direct connection within ${connectDeadlineMs / 1000} s; a firewall or a guest network may block it`)
    peer.destroy()
  }, connectDeadlineMs)
  peer.once('connect', () => {
    clearTimeout(timer)
    connected.resolve()
  })
  peer.once('close', () => {
    clearTimeout(timer)
    stop()
    fail('the connection was closed')
  })
  peer.on('error', (cause) => fail(cause.message))
  return connected.promise
}

/** simple-peer's own channel as a link. */
class PeerLink extends LinkBase {
  readonly #peer: Instance
  readonly #inside: Inside
  #held: Uint8Array<ArrayBuffer>[] | null = []
  #error = ''

  constructor(peer: Instance, inside: Inside, name: string) {
    super(name)
    this.#peer = peer
    this.#inside = inside
    peer.on('connect', () => {
      // Its threshold is simple-peer's, 64 KiB: exactly the room that is wanted. Timers would stop in a hidden tab.
      inside._channel?.addEventListener('bufferedamountlow', () => this.wake())
      this.wake()
    })
    // Text is no piece; an empty one is counted as garbage.
    peer.on('data', (data: unknown) => {
      const frame = data instanceof Uint8Array ? new Uint8Array(data) : new Uint8Array(0)
      if (this.#held) this.#held.push(frame)
      else this.deliver(frame)
    })
    peer.on('error', (cause) => {
      this.#error = cause.message
    })
    peer.on('close', () => this.ended(this.#error || 'the connection was closed'))
  }

  get open(): boolean {
    return this.#peer.connected && !this.#peer.destroyed
  }

  /** Delivers what has come so far, and from now on everything at once. */
  release(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const frame of held) this.deliver(frame)
  }

  protected transmit(frame: Uint8Array): void {
    this.#peer.send(frame)
  }

  protected roomy(): boolean {
    return this.open && (this.#inside._channel?.bufferedAmount ?? 0) <= ROOM_BYTES
  }

  protected shut(): void {}
}
