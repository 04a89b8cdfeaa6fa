import { expect, test } from 'vitest'
import { offersOf } from './offers.ts'
import { MemorySignalling } from './testing/memory-signalling.ts'

const offer = { type: 'offer', sdp: 'v=0' } as const
const candidate = { type: 'candidate', candidate: { candidate: 'candidate:1', sdpMid: '0', sdpMLineIndex: 0 } } as const

test('an offer that comes before this side has opened its end is not lost, and order is kept', () => {
  const signalling = new MemorySignalling('me')
  const offers = offersOf(signalling)
  signalling.onMessage?.('ada', { session: 'generation 1', signal: offer })
  signalling.onMessage?.('ada', { session: 'generation 1', signal: candidate })
  const got: unknown[] = []
  offers.listen('ada', 'generation 1', (signal) => got.push(signal))
  expect(got).toEqual([offer, candidate])
})

test('signals reach only the connection of their peer and session', () => {
  const signalling = new MemorySignalling('me')
  const offers = offersOf(signalling)
  const got: string[] = []
  for (const peer of ['ada', 'ben']) for (const session of ['1', '2']) offers.listen(peer, session, () => got.push(`${peer} ${session}`))
  signalling.onMessage?.('ben', { session: '1', signal: offer })
  signalling.onMessage?.('ada', { session: '2', signal: offer })
  expect(got).toEqual(['ben 1', 'ada 2'])
})

test('one signalling has one dispatcher', () => {
  const signalling = new MemorySignalling('me')
  expect(offersOf(signalling)).toBe(offersOf(signalling))
})

test('an older connection that stops does not unhook the newer one of the same name', () => {
  const signalling = new MemorySignalling('me')
  const offers = offersOf(signalling)
  const got: string[] = []
  const stop = offers.listen('ada', '1', () => got.push('old'))
  offers.listen('ada', '1', () => got.push('new'))
  stop()
  signalling.onMessage?.('ada', { session: '1', signal: offer })
  expect(got).toEqual(['new'])
})

test('[J6] what is no signal is dropped', () => {
  const signalling = new MemorySignalling('me')
  const got: unknown[] = []
  offersOf(signalling).listen('ada', '1', (signal) => got.push(signal))
  for (const signal of [null, 1, 'offer', {}, { type: 'offer' }, { type: 'offer', sdp: 'x'.repeat(70_000) }, { type: 'candidate', candidate: 7 }, { type: 'unheard of' }]) {
    signalling.onMessage?.('ada', { session: '1', signal })
  }
  for (const payload of [null, [], 'x', { signal: offer }, { session: 1, signal: offer }]) signalling.onMessage?.('ada', payload)
  expect(got).toEqual([])
})
