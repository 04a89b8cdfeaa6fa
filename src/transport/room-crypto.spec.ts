import { expect, test } from 'vitest'
import { roomCrypto } from './room-crypto.ts'
import { newInvite } from './room-invite.ts'

test('[J3] what is sealed opens again in its context and shows nothing', async () => {
  const { room, key } = newInvite()
  const crypto = await roomCrypto(room, key)
  const sealed = await crypto.seal({ offer: 'sdp', numbers: [1, 2] }, 'to ada')
  expect(await crypto.open(sealed, 'to ada')).toEqual({ offer: 'sdp', numbers: [1, 2] })
  expect(new TextDecoder().decode(sealed)).not.toContain('offer')
})

test('[J3] another key, another room, another context or a changed byte opens nothing', async () => {
  const { room, key } = newInvite()
  const crypto = await roomCrypto(room, key)
  const sealed = await crypto.seal('hello', 'to ada')
  expect(await crypto.open(sealed, 'to ben')).toBeUndefined()
  expect(await (await roomCrypto(room, newInvite().key)).open(sealed, 'to ada')).toBeUndefined()
  expect(await (await roomCrypto('red-green-blue', key)).open(sealed, 'to ada')).toBeUndefined()
  for (let place = 0; place < sealed.byteLength; place++) {
    const changed = sealed.slice()
    changed[place] = (changed[place] ?? 0) ^ 1
    expect(await crypto.open(changed, 'to ada')).toBeUndefined()
  }
})

test('[J6] bytes of any length open nothing and do not throw', async () => {
  const { room, key } = newInvite()
  const crypto = await roomCrypto(room, key)
  for (const length of [0, 1, 12, 13, 28, 500, 300_000]) expect(await crypto.open(new Uint8Array(length), 'x')).toBeUndefined()
})

test('[J3] the same value sealed twice looks different', async () => {
  const { room, key } = newInvite()
  const crypto = await roomCrypto(room, key)
  expect(await crypto.seal(1, 'x')).not.toEqual(await crypto.seal(1, 'x'))
})
