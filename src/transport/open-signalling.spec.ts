import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { broadcastCarrier } from './broadcast-carrier.ts'
import { mqttCarrier } from './mqtt-carrier.ts'
import { openSignalling } from './open-signalling.ts'
import { roomCrypto } from './room-crypto.ts'
import { type Invite, newInvite } from './room-invite.ts'
import { type Carrier, sealedSignalling } from './sealed-signalling.ts'
import type { Presence, Signalling } from './signalling.ts'
import { type TestBroker, openTestBroker } from './testing/test-broker.ts'

let broker: TestBroker
const opened: { close(): void }[] = []

beforeEach(async () => {
  broker = await openTestBroker()
})

afterEach(async () => {
  for (const each of opened.splice(0)) each.close()
  await broker.close()
})

const presence = (name: string, role: Presence['role'] = 'rank'): Presence => ({ role, name, session: `${name}'s visit`, build: 'b' })

interface Listening {
  readonly signalling: Signalling
  readonly peers: string[]
  readonly messages: string[]
}

function listen(signalling: Signalling): Listening {
  const peers: string[] = []
  const messages: string[] = []
  signalling.onPeer = (peer, seen) => peers.push(`${peer}: ${seen ? `${seen.name}, ${seen.role}` : 'gone'}`)
  signalling.onMessage = (from, payload) => messages.push(`${from}: ${JSON.stringify(payload)}`)
  opened.push(signalling)
  return { signalling, peers, messages }
}

async function overMqtt(invite: Invite, self: string): Promise<Listening & { readonly dropped: () => number }> {
  const sealed = sealedSignalling(self, invite.room, await roomCrypto(invite.room, invite.key), await mqttCarrier(broker.url, invite.room, self))
  return { ...listen(sealed), dropped: () => sealed.dropped }
}

async function overBroadcast(invite: Invite, self: string): Promise<Listening> {
  return listen(sealedSignalling(self, invite.room, await roomCrypto(invite.room, invite.key), broadcastCarrier(invite.room, self)))
}

const overBoth = async (invite: Invite, self: string) => listen(await openSignalling({ invite, self, origin: broker.origin }))

test.each([
  ['MQTT', overMqtt],
  ['BroadcastChannel', overBroadcast],
  ['both', overBoth],
])('[J2] over %s peers see each other, whoever comes first, and messages arrive once and in order', async (_, open) => {
  const invite = newInvite()
  const ada = await open(invite, 'ada')
  await ada.signalling.join(presence('Ada', 'coordinator'))
  const ben = await open(invite, 'ben')
  await ben.signalling.join(presence('Ben'))
  await expect.poll(() => ada.peers).toEqual(['ben: Ben, rank'])
  await expect.poll(() => ben.peers).toEqual(['ada: Ada, coordinator'])
  for (let number = 0; number < 5; number++) ben.signalling.send('ada', { number })
  await expect.poll(() => ada.messages).toEqual([0, 1, 2, 3, 4].map((number) => `ben: {"number":${number}}`))
  ben.signalling.close()
  await expect.poll(() => ada.peers).toEqual(['ben: Ben, rank', 'ben: gone'])
  expect(ben.messages).toEqual([])
})

test('without a broker, tabs of one browser still find each other', async () => {
  await broker.close()
  const invite = newInvite()
  const ada = await overBoth(invite, 'ada')
  const ben = await overBoth(invite, 'ben')
  await ada.signalling.join(presence('Ada'))
  await ben.signalling.join(presence('Ben'))
  await expect.poll(() => [ada.peers, ben.peers]).toEqual([['ben: Ben, rank'], ['ada: Ada, rank']])
})

test('a broker that never answers is given up after five seconds', async () => {
  const silent: Server = createServer()
  silent.on('upgrade', () => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  const startedMs = performance.now()
  const ada = listen(await openSignalling({ invite: newInvite(), self: 'ada', origin: `http://127.0.0.1:${port}` }))
  expect(performance.now() - startedMs).toBeLessThan(8_000)
  ada.signalling.close()
  silent.closeAllConnections()
  silent.close()
})

test('[J3] who has the room but not the key sees nobody and is seen by nobody', async () => {
  const invite = newInvite()
  const ada = await overMqtt(invite, 'ada')
  const eve = await overMqtt({ ...invite, key: newInvite().key }, 'eve')
  await ada.signalling.join(presence('Ada'))
  await eve.signalling.join(presence('Eve'))
  eve.signalling.send('ada', 'let me in')
  await expect.poll(() => [ada.dropped(), eve.dropped()]).toEqual([2, 1])
  expect([ada.peers, ada.messages, eve.peers]).toEqual([[], [], []])
})

test('[M2] a connection to the broker that breaks is told by the Last Will, and coming back is told again', async () => {
  const invite = newInvite()
  const ada = await overMqtt(invite, 'ada')
  await ada.signalling.join(presence('Ada'))
  const ben = await overMqtt(invite, 'ben')
  await ben.signalling.join(presence('Ben'))
  await expect.poll(() => ada.peers).toEqual(['ben: Ben, rank'])
  broker.drop('ben')
  await expect.poll(() => ada.peers, { timeout: 5_000 }).toEqual(['ben: Ben, rank', 'ben: gone', 'ben: Ben, rank'])
  ben.signalling.send('ada', 'still here')
  ada.signalling.send('ben', 'welcome back')
  await expect.poll(() => [ada.messages, ben.messages]).toEqual([['ben: "still here"'], ['ada: "welcome back"']])
})

test('a presence that somebody else has cleared is shown again', async () => {
  const invite = newInvite()
  const ada = await overMqtt(invite, 'ada')
  await ada.signalling.join(presence('Ada'))
  const ben = await overMqtt(invite, 'ben')
  await ben.signalling.join(presence('Ben'))
  await expect.poll(() => ada.peers).toEqual(['ben: Ben, rank'])
  await broker.publish(`room/${invite.room}/peer/ben`, '')
  await expect.poll(() => ada.peers).toEqual(['ben: Ben, rank', 'ben: gone', 'ben: Ben, rank'])
})

test('[J6] garbage on the medium is dropped, and a listener that throws does not end the listening', async () => {
  const invite = newInvite()
  const ada = await overMqtt(invite, 'ada')
  await ada.signalling.join(presence('Ada'))
  for (const payload of ['', '!', 'AAAA', 'x'.repeat(10_000)]) {
    await broker.publish(`room/${invite.room}/to/ada/eve`, payload)
    await broker.publish(`room/${invite.room}/peer/eve`, payload)
  }
  ada.signalling.onMessage = () => {
    throw new Error('upset')
  }
  const ben = await overMqtt(invite, 'ben')
  await ben.signalling.join(presence('Ben'))
  ben.signalling.send('ada', 1)
  const before = ada.dropped()
  await expect.poll(() => ada.dropped()).toBeGreaterThan(before)
  ada.signalling.onMessage = (from) => ada.messages.push(from)
  ben.signalling.send('ada', 2)
  await expect.poll(() => ada.messages).toEqual(['ben'])
})

test('sending after closing is lost without an error', async () => {
  const invite = newInvite()
  const ada = await overBroadcast(invite, 'ada')
  ada.signalling.close()
  ada.signalling.send('ben', 1)
  await new Promise((resolve) => setTimeout(resolve, 20))
})

test('[J6] a peer with a name that cannot be one is dropped', async () => {
  const carrier: Carrier = { onPresence: null, onMessage: null, show: () => Promise.resolve(), send: () => {}, close: () => {} }
  const { room, key } = newInvite()
  const sealed = sealedSignalling('me', room, await roomCrypto(room, key), carrier)
  const { peers } = listen(sealed)
  carrier.onPresence?.('../etc', null)
  carrier.onPresence?.('x'.repeat(65), null)
  carrier.onPresence?.('me', null)
  expect([sealed.dropped, peers]).toEqual([2, []])
})
