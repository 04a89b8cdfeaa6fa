import { expect, test } from 'vitest'
import { channelLink } from './channel-link.ts'
import { HIGH_WATER_BYTES, LOW_WATER_BYTES } from './link-base.ts'
import type { Link } from './link.ts'
import { forwardChannel, portLink } from './port-link.ts'
import { type FakeChannel, fakeChannelPair } from './testing/fake-channel.ts'

const turn = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms))

/** A link straight over the channel, and one carried by the page: both must behave alike. */
const bodies: [string, (channel: FakeChannel) => Link][] = [
  ['a channel', (channel) => channelLink(channel, 'Ada')],
  [
    'a port to the page',
    (channel) => {
      const { port1, port2 } = new MessageChannel()
      forwardChannel(channel, port1)
      return portLink(port2, 'Ada')
    },
  ],
]

test.each(bodies)('%s: drained waits for the opening, frames go both ways in order', async (_, over) => {
  const [near, far] = fakeChannelPair()
  const link = over(near)
  const opened = link.drained()
  expect(link.open).toBe(false)
  expect(() => link.send(new Uint8Array(1))).toThrow('Cannot send to Ada: the link is not open')
  near.open()
  far.open()
  await opened
  expect(link.open).toBe(true)
  const got: number[] = []
  const arrived: number[] = []
  link.onFrame = (frame) => got.push(frame[0] ?? -1)
  far.addEventListener('message', (event) => arrived.push(new Uint8Array(event instanceof MessageEvent ? event.data : [])[0] ?? -1))
  const buffer = Uint8Array.of(1)
  link.send(buffer)
  buffer[0] = 2
  link.send(buffer)
  far.send(Uint8Array.of(3))
  far.send(Uint8Array.of(4))
  await turn()
  near.flush()
  far.flush()
  await turn()
  expect(arrived).toEqual([1, 2])
  expect(got).toEqual([3, 4])
  link.close()
  await turn()
})

test.each(bodies)('[F4] %s: at most 128 KiB are buffered when the sender waits for drained', async (_, over) => {
  const [near, far] = fakeChannelPair()
  const link = over(near)
  near.open()
  far.open()
  let sent = 0
  const sending = (async () => {
    for (; sent < 6; sent++) {
      await link.drained()
      link.send(new Uint8Array(65_536))
    }
  })()
  await turn(20)
  expect(near.bufferedAmount).toBeLessThanOrEqual(HIGH_WATER_BYTES)
  expect(sent).toBeLessThan(6)
  expect(near.bufferedAmountLowThreshold).toBe(LOW_WATER_BYTES)
  while (sent < 6) {
    near.flush()
    await turn()
  }
  await sending
  link.close()
  await turn()
})

test.each(bodies)('%s: the other side closing is told once, and waiting ends', async (_, over) => {
  const [near, far] = fakeChannelPair()
  const link = over(near)
  const told: string[] = []
  link.onClose = (cause) => told.push(cause.message)
  const waiting = link.drained()
  waiting.catch(() => {})
  far.close()
  await turn(20)
  await expect(waiting).rejects.toThrow('the connection was closed')
  expect(told).toEqual(['the connection was closed'])
  expect(link.open).toBe(false)
})

test.each(bodies)('%s: what was sent before closing arrives', async (_, over) => {
  const [near, far] = fakeChannelPair()
  const link = over(near)
  near.open()
  far.open()
  await link.drained()
  const arrived: number[] = []
  far.addEventListener('message', (event) => arrived.push(new Uint8Array(event instanceof MessageEvent ? event.data : [])[0] ?? -1))
  link.send(Uint8Array.of(9))
  link.close('the generation is over')
  await turn(20)
  expect(arrived).toEqual([9])
  expect(near.readyState).toBe('closed')
})

test('[J6] text on a channel becomes an empty frame, which readers count as garbage', async () => {
  const [near] = fakeChannelPair()
  const link = channelLink(near, 'Ada')
  const lengths: number[] = []
  link.onFrame = (frame) => lengths.push(frame.byteLength)
  near.dispatchEvent(new MessageEvent('message', { data: 'hello' }))
  expect(lengths).toEqual([0])
})
