import { expect, test } from 'vitest'
import { inviteUrl, newInvite, parseInvite } from './room-invite.ts'

test('[J1] an invitation goes through its address and comes back, the key in the fragment alone', () => {
  for (let round = 0; round < 50; round++) {
    const invite = newInvite()
    const url = inviteUrl('https://example.org', invite)
    expect(parseInvite(url)).toEqual(invite)
    const { pathname, search, hash } = new URL(url)
    expect(pathname + search).toBe(`/join?room=${invite.room}`)
    expect(hash).toBe(`#k=${invite.key}`)
    expect(invite.room).toMatch(/^[a-z]+-[a-z]+-[a-z]+$/)
  }
})

test('[J1] an address that was cut short or changed is no invitation', () => {
  const { room, key } = newInvite()
  for (const rest of [`?room=${room}`, `?room=${room}#k=${key.slice(1)}`, `#k=${key}`, `?room=a/%23/b#k=${key}`, `?room=${room}#${key}`]) {
    expect(parseInvite(`https://a.b/join${rest}`), rest).toBeNull()
  }
})

test('page parameters between room and key do no harm', () => {
  const { room, key } = newInvite()
  expect(parseInvite(`https://a.b/join?room=${room}&auto=1&name=x#k=${key}`)).toEqual({ room, key })
})
