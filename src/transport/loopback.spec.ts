import { expect, test } from 'vitest'
import { HIGH_WATER_BYTES } from './link-base.ts'
import { loopbackPair } from './loopback.ts'

const turn = () => new Promise((resolve) => setTimeout(resolve))

test('frames arrive in order, in a later turn, and the buffer may be reused at once', async () => {
  const [left, right] = loopbackPair()
  const got: number[] = []
  right.onFrame = (frame) => got.push(frame[0] ?? -1)
  const buffer = Uint8Array.of(1)
  left.send(buffer)
  buffer[0] = 2
  left.send(buffer)
  expect(got).toEqual([])
  await turn()
  expect(got).toEqual([1, 2])
})

test('frames that come before a receiver is set are kept', async () => {
  const [left, right] = loopbackPair()
  left.send(Uint8Array.of(7))
  await turn()
  const got: number[] = []
  right.onFrame = (frame) => got.push(frame[0] ?? -1)
  expect(got).toEqual([7])
})

test('a close is told once on both sides, also to a listener that comes later', async () => {
  const [left, right] = loopbackPair()
  const told: string[] = []
  right.onClose = (cause) => told.push(cause.message)
  left.send(Uint8Array.of(1))
  left.close('the tab is closed')
  left.close('again')
  await turn()
  left.onClose = (cause) => told.push(cause.message)
  await turn()
  expect(told).toEqual(['closed by the other side: the tab is closed', 'the tab is closed'])
  expect(left.open || right.open).toBe(false)
  expect(() => right.send(Uint8Array.of(1))).toThrow('Cannot send to left')
})

test('what was sent before a close arrives', async () => {
  const [left, right] = loopbackPair()
  const got: number[] = []
  right.onFrame = (frame) => got.push(frame[0] ?? -1)
  left.send(Uint8Array.of(5))
  left.close()
  await turn()
  expect(got).toEqual([5])
})

test('[F4] drained waits while another frame would pass the high-water mark', async () => {
  const [left, right] = loopbackPair()
  right.onFrame = () => {}
  left.send(new Uint8Array(65_536))
  left.send(new Uint8Array(65_536))
  expect(left.peakBytes).toBe(HIGH_WATER_BYTES)
  let arrived = false
  right.onFrame = () => {
    arrived = true
  }
  await left.drained()
  expect(arrived).toBe(true)
})

test('drained rejects on close and on abort', async () => {
  const [left] = loopbackPair()
  left.freeze()
  const controller = new AbortController()
  left.inject(new Uint8Array(1))
  await expect(left.drained(AbortSignal.abort(new Error('no longer wanted')))).rejects.toThrow('no longer wanted')
  left.cut('pulled')
  await expect(left.drained(controller.signal)).rejects.toThrow('pulled')
})
