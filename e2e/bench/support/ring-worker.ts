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
let ring: Ring | null = null
let next: Link
let update = 0
let values = new Float32Array(0)
/** Frames that are still to come in an exchange. */
let missing = 0
let last = 0; let gap = 0; let gapAt = 0; let sendGap = 0
let complete: Deferred<void> = deferred()

const ringWorker = {
  attach: (generation: number, { peer, name }: Member, channel: RTCDataChannel) => table.add(generation, peer, channelLink(channel, name)),

  async form(generation: number, members: readonly Member[], self: string): Promise<void> {
    ring?.abort('a newer generation has started')
    ring = null
    update = 0
    table.closeBelow(generation)
    const rank = members.findIndex(({ peer }) => peer === self)
    if (rank < 0) return
    const worldSize = members.length
    const at = (index: number) => table.opened(generation, members[(index + worldSize) % worldSize]?.peer ?? '')
    const previous = await at(rank - 1)
    next = await at(rank + 1)
    ring = createRing({ rank, worldSize, generation, next, previous, deadlineMs: DEADLINE_MS })
    tap(previous)
  },

  fill(count: number): void {
    const { rank } = formed()
    values = new Float32Array(count)
    for (let index = 0; index < count; index++) values[index] = noise(rank, index)
  },

  /** Sums what `fill` has set. */
  async reduce(): Promise<Span> {
    await barrier()
    return timed(() => formed().allReduce(values, { update, collective: 1 }))
  },

  /** @returns the largest difference from the known sum, and a digest of all bits. */
  async check(): Promise<{ worst: number; digest: string }> {
    const { worldSize } = formed()
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

  /** Sends as many frames of the same size as an all-reduce of `count` floats and receives as many, none waiting for another. */
  async exchange(count: number): Promise<Span> {
    const { worldSize } = formed()
    const layout = new ChunkLayout(count, worldSize)
    const frames = 2 * (worldSize - 1) * layout.range(0).end
    const frame = new Uint8Array(HEADER_BYTES + (layout.chunk(0)?.length ?? 0) * 4).fill(RAW)
    complete = deferred()
    missing = frames
    await barrier()
    return timed(async () => {
      for (let sent = 0; sent < frames; sent++) {
        const a = performance.now(); await next.drained(); sendGap = Math.max(sendGap, performance.now() - a)
        next.send(frame)
      }
      await complete.promise
    })
  },
}

export type RingWorker = typeof ringWorker
Comlink.expose(ringWorker)

/** Counts raw frames; all others go on to the ring. */
function tap(link: Link): void {
  const hear = link.onFrame
  link.onFrame = (frame) => {
    const now = performance.now(); if (now - last > gap) { gap = now - last; gapAt = now }; last = now
    if (frame[0] !== RAW) return hear?.(frame)
    missing--
    if (missing === 0) complete.resolve()
  }
}

/** All tabs leave it at about the same time; a new update. */
async function barrier(): Promise<void> {
  update++
  await formed().allGather(new Uint8Array(4), { update, collective: 0 })
}

async function timed(body: () => Promise<void>): Promise<Span> {
  const startedAt = performance.timeOrigin + performance.now()
  last = performance.now(); gap = 0; sendGap = 0; const t0 = last
  await body()
  return { gap, gapAt: gapAt - t0, sendGap, startedAt, endedAt: performance.timeOrigin + performance.now() }
}

function formed(): Ring {
  if (!ring) throw new Error('Cannot measure: no ring is formed')
  return ring
}

/** From -0.5 to 0.5, with all bits of the fraction in use, so that another order of sums shows. */
function noise(rank: number, index: number): number {
  return Math.fround((Math.imul(index + 1, 2_654_435_761) ^ Math.imul(rank + 1, 40_503_001)) / 2 ** 32)
}
