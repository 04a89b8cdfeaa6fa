import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { controlLink } from './control-link.ts'
import { encodePiece } from './control-pieces.ts'
import { loopbackPair } from './loopback.ts'

const turn = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms))

function pair(maxBlobBytes = 10_000_000) {
  const links = loopbackPair(['Ada', 'Ben'])
  const [left, right] = links.map((link) => controlLink(link, { maxBlobBytes }))
  if (!left || !right) throw new Error('two links make two control links')
  return { left, right, links }
}

test('messages of any size arrive whole and in order', async () => {
  const { left, right } = pair()
  const got: unknown[] = []
  right.onMessage = (message) => got.push(message)
  const messages = [1, null, { text: 'ä€😀' }, 'x'.repeat(500_000), [], { ids: Array.from({ length: 100_000 }, (_, index) => index) }]
  for (const message of messages) left.send(message)
  await turn(20)
  expect(got).toEqual(messages)
})

test('a blob arrives with its name and its progress, and messages overtake it', async () => {
  const { left, right } = pair()
  const bytes = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 253)
  const events: string[] = []
  const progress: number[] = []
  const received: number[] = []
  right.onBlobProgress = (name, done, total) => {
    expect([name, total]).toEqual(['corpus', bytes.byteLength])
    received.push(done)
  }
  right.onMessage = (message) => events.push(`message ${JSON.stringify(message)}`)
  right.onBlob = (name, blob) => events.push(`${name} ${Buffer.compare(blob, bytes) === 0 ? 'equal' : 'different'}`)
  const sending = left.sendBlob('corpus', bytes, (done) => progress.push(done))
  left.send('overtakes')
  await sending
  await turn(5)
  expect(events).toEqual(['message "overtakes"', 'corpus equal'])
  for (const list of [progress, received]) {
    expect(list.at(-1)).toBe(bytes.byteLength)
    expect(list.toSorted((a, b) => a - b)).toEqual(list)
  }
})

test('an empty blob arrives, and several come one after the other', async () => {
  const { left, right } = pair()
  const got: string[] = []
  right.onBlob = (name, bytes) => got.push(`${name} ${bytes.byteLength}`)
  await Promise.all([left.sendBlob('empty', new Uint8Array(0)), left.sendBlob('a', new Uint8Array(70_000)), left.sendBlob('b', new Uint8Array(1))])
  await turn()
  expect(got).toEqual(['empty 0', 'a 70000', 'b 1'])
})

test('[J6] a blob above the limit is refused before memory is taken, and its sender is told', async () => {
  const { left, right } = pair(1_000)
  const got: string[] = []
  right.onBlob = (name) => got.push(name)
  await expect(left.sendBlob('model', new Uint8Array(5_000_000))).rejects.toThrow('Cannot send model to Ben: it has 5000000 bytes, the other side takes at most 1000')
  left.send('still works')
  await left.sendBlob('small', new Uint8Array(1_000))
  await turn()
  expect(got).toEqual(['small'])
  expect(right.dropped).toBeGreaterThan(0)
})

test('[J6] an announced size alone takes no memory beyond the limits', async () => {
  const { right, links } = pair(1_000)
  links[0].inject(encodePiece({ type: 'blob-start', id: 1, total: 2 ** 32 - 1, name: 'huge' }))
  links[0].inject(encodePiece({ type: 'message', total: 2 ** 32 - 1, offset: 0, bytes: new Uint8Array(10) }))
  await turn()
  expect(right.dropped).toBe(2)
})

test('[J6] garbage is dropped and counted, and what follows is understood', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }), async (garbage) => {
      const { left, right, links } = pair(1_000)
      const got: unknown[] = []
      right.onMessage = (message) => {
        if (message === 'after') got.push(message)
      }
      for (const bytes of garbage) links[0].inject(bytes)
      left.send('after')
      await turn()
      expect(got).toEqual(['after'])
    }),
    { numRuns: 100 },
  )
})

test('[J6] text that is not JSON is dropped and counted', async () => {
  const { right, links } = pair()
  const bytes = new TextEncoder().encode('{"a":')
  links[0].inject(encodePiece({ type: 'message', total: bytes.byteLength, offset: 0, bytes }))
  await turn()
  expect(right.dropped).toBe(1)
})

test('closing lets queued messages leave, tells the other side, and gives blobs up', async () => {
  const { left, right } = pair()
  const got: unknown[] = []
  const told: string[] = []
  right.onMessage = (message) => got.push(message)
  right.onClose = (cause) => told.push(cause.message)
  left.onClose = () => told.push('must not be told')
  const blob = left.sendBlob('model', new Uint8Array(9_000_000))
  left.send({ type: 'leaving' })
  left.close()
  await expect(blob).rejects.toThrow('Cannot send model to Ben: closed on this side')
  await turn()
  expect(got).toEqual([{ type: 'leaving' }])
  expect(told).toEqual(['closed by the other side: closed on this side'])
  expect(left.open || right.open).toBe(false)
  expect(() => left.send(1)).toThrow('Cannot send to Ben: the link is not open')
})

test('a cut link rejects the blob and is told with its cause', async () => {
  const { left, links } = pair()
  const told: string[] = []
  left.onClose = (cause) => told.push(cause.message)
  const blob = left.sendBlob('model', new Uint8Array(9_000_000))
  links[1].cut('the tab was killed')
  await expect(blob).rejects.toThrow('Cannot send model to Ben: the tab was killed')
  expect(told).toEqual(['the tab was killed'])
})
