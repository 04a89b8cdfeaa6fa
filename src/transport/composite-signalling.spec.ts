import { expect, test } from 'vitest'
import { compositeSignalling } from './composite-signalling.ts'
import type { Presence } from './signalling.ts'
import { MemorySignalling } from './testing/memory-signalling.ts'

const ada: Presence = { role: 'rank', name: 'Ada', session: 'first visit', build: 'b' }

function open() {
  const near = new MemorySignalling('me')
  const far = new MemorySignalling('me')
  const both = compositeSignalling('me', [near, far])
  const heard: string[] = []
  both.onPeer = (peer, presence) => heard.push(`${peer} ${presence?.session ?? 'gone'}`)
  return { near, far, both, heard }
}

test('a peer that both media show is told once', () => {
  const { near, far, heard } = open()
  near.onPeer?.('ada', ada)
  far.onPeer?.('ada', ada)
  near.onPeer?.('ada', ada)
  expect(heard).toEqual(['ada first visit'])
})

test('a reload is told once, whichever medium says so first', () => {
  const { near, far, heard } = open()
  near.onPeer?.('ada', ada)
  far.onPeer?.('ada', ada)
  far.onPeer?.('ada', { ...ada, session: 'second visit' })
  near.onPeer?.('ada', { ...ada, session: 'second visit' })
  expect(heard).toEqual(['ada first visit', 'ada second visit'])
})

test('[M2] one medium noticing the end is enough, and it is told once', () => {
  const { near, far, heard } = open()
  near.onPeer?.('ada', ada)
  far.onPeer?.('ada', ada)
  far.onPeer?.('ada', null)
  near.onPeer?.('ada', null)
  expect(heard).toEqual(['ada first visit', 'ada gone'])
})

test('[M2] a peer that was taken for gone and shows itself again is told again', () => {
  const { near, far, heard } = open()
  near.onPeer?.('ada', ada)
  far.onPeer?.('ada', ada)
  far.onPeer?.('ada', null)
  far.onPeer?.('ada', ada)
  expect(heard).toEqual(['ada first visit', 'ada gone', 'ada first visit'])
})

test('messages take the preferred medium that shows the peer, else the last', () => {
  const { near, far, both } = open()
  near.onPeer?.('ada', ada)
  far.onPeer?.('ada', ada)
  far.onPeer?.('ben', { ...ada, name: 'Ben' })
  both.send('ada', 1)
  both.send('ben', 2)
  both.send('unknown', 3)
  expect(near.sent).toEqual([{ to: 'ada', payload: 1 }])
  expect(far.sent).toEqual([
    { to: 'ben', payload: 2 },
    { to: 'unknown', payload: 3 },
  ])
})

test('it joins and closes every medium', async () => {
  const { near, far, both } = open()
  await both.join(ada)
  both.close()
  expect([near.joined, far.joined, near.closed, far.closed]).toEqual([ada, ada, true, true])
})
