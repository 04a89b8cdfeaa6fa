// The Worker of a tab of the ring: the product's links and ring, and the same links without a ring.
import * as Comlink from 'comlink'
import { type Deferred, deferred } from '../../../src/base/deferred.ts'
import { ChunkLayout } from '../../../src/collectives/chunk-layout.ts'
import { createRing, type Ring } from '../../../src/collectives/ring.ts'
import { HEADER_BYTES } from '../../../src/protocol/frame.ts'
import type { Member } from '../../../src/protocol/room-messages.ts'
import { LinkTable } from '../../../src/rank/link-table.ts'
import { channelLink } from '../../../src/transport/channel-link.ts'
import type { Link } from '../../../src/transport/link.ts'

/** Milliseconds since the epoch: tabs of one machine have the same. */
interface Span {
  readonly startedAt: number
  readonly endedAt: number
}

const DEADLINE_MS = 60_000
/** First byte of a frame that is not the ring's. */
const RAW = 0

const table = new LinkTable()
let seat: { readonly rank: number; readonly worldSize: number; readonly next: Link; readonly previous: Link } | null = null
let ring: Ring | null = null
let generation = 0
let values = new Float32Array(0)
/** Of an exchange: frames to send, and those that are still to come. */
let frame = new Uint8Array(0)
let frames = 0
let missing = 0
let complete: Deferred<void> = deferred()

const ringWorker = {
  attach: (formation: number, { peer, name }: Member, channel: RTCDataChannel) => table.add(formation, peer, channelLink(channel, name)),

  /** Waits for the links to both neighbours. */
  async form(formation: number, members: readonly Member[], self: string): Promise<void> {
    rest()
    seat = null
    table.closeBelow(formation)
    generation = formation * 1000
    const rank = members.findIndex(({ peer }) => peer === self)
    if (rank < 0) return
    const worldSize = members.length
    const at = (index: number) => table.opened(formation, members[(index + worldSize) % worldSize]?.peer ?? '')
    seat = { rank, worldSize, previous: await at(rank - 1), next: await at(rank + 1) }
  },

  prepareReduce(count: number): void {
    rest()
    generation++
    ring = createRing({ ...seated(), generation, deadlineMs: DEADLINE_MS })
    values = new Float32Array(count)
    for (let index = 0; index < count; index++) values[index] = noise(ring.rank, index)
  },

  reduce: (startAt: number) => timed(startAt, async () => ring?.allReduce(values, { update: 1, collective: 0 })),

  /** @returns the largest difference from the known sum, and a digest of all bits. */
  async check(): Promise<{ worst: number; digest: string }> {
    const { worldSize } = seated()
    let worst = 0
    for (let index = 0; index < values.length; index++) {
      let difference = -(values[index] ?? Number.NaN)
      for (let rank = 0; rank < worldSize; rank++) difference += noise(rank, index)
      // Written so that a NaN counts.
      if (!(Math.abs(difference) <= worst)) worst = Math.abs(difference)
    }
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', values))
    return { worst, digest: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
  },

  /** As many frames of the same size as an all-reduce of `count` floats has. The ring rests: silence of a crowded link would end it. */
  prepareExchange(count: number): void {
    rest()
    const { worldSize, previous } = seated()
    const layout = new ChunkLayout(count, worldSize)
    frame = new Uint8Array(HEADER_BYTES + (layout.chunk(0)?.length ?? 0) * 4).fill(RAW)
    frames = 2 * (worldSize - 1) * layout.range(0).end
    missing = frames
    complete = deferred()
    previous.onFrame = (received) => {
      if (received[0] === RAW) missing--
      if (missing === 0) complete.resolve()
    }
  },

  /** Sends all frames and receives as many, none waiting for another. */
  exchange: (startAt: number) =>
    timed(startAt, async () => {
      const { next } = seated()
      for (let sent = 0; sent < frames; sent++) {
        await next.drained()
        next.send(frame)
      }
      await complete.promise
    }),
}

export type RingWorker = typeof ringWorker
Comlink.expose(ringWorker)

/** Ends the ring, not its links; the next one does not hear what is left of this generation. */
function rest(): void {
  ring?.abort('measured')
  ring = null
}

/** Begins at `startAt`, on all tabs at once. */
async function timed(startAt: number, body: () => Promise<void>): Promise<Span> {
  const now = () => performance.timeOrigin + performance.now()
  await new Promise((begin) => setTimeout(begin, startAt - now()))
  const startedAt = now()
  await body()
  return { startedAt, endedAt: now() }
}

function seated() {
  if (!seat) throw new Error('Cannot measure: this tab has no seat in the ring')
  return seat
}

/** From -0.5 to 0.5, with all bits of the fraction in use, so that another order of sums shows. */
function noise(rank: number, index: number): number {
  return Math.fround((Math.imul(index + 1, 2_654_435_761) ^ Math.imul(rank + 1, 40_503_001)) / 2 ** 32)
}
