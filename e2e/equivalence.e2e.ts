import { type Browser, expect, test } from '@playwright/test'
import type { StepRecord } from '../src/protocol/step-record.ts'
import type { RunningServer } from '../src/server/serve.ts'
import { launchBrowser, openCoordinator, openRankTab, serveBuild } from './support/room.ts'

/** However the micro-batches of an update are spread over tabs, the model learns the same. */
const TABLE = [
  { ranks: 2, shares: '' },
  { ranks: 4, shares: '' },
  { ranks: 3, shares: '4,3,1' },
] as const

const OPTIONS = { preset: 'tiny', max_steps: 10, per_device_train_batch_size: 2, global_batch_size: 16, hash_every: 1, eval_strategy: 'no', sample_every: 0, bucket_cap_mb: 0.02 }
const RELATIVE = 1e-5

let browser: Browser
let server: RunningServer
let alone: readonly StepRecord[]

test.beforeAll(async () => {
  browser = await launchBrowser()
  server = await serveBuild()
  alone = await train(1, '')
})

test.afterAll(async () => {
  await browser.close()
  await server.close()
})

/** Trains in real tabs until the run is finished. Ranks whose state hashes differ would fail it. */
async function train(ranks: number, shares: string): Promise<readonly StepRecord[]> {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { ...OPTIONS, micro_batch_shares: shares, cli: 1, ranks })
  const { url } = await room.until('invite')
  for (let rank = 2; rank <= ranks; rank++) await openRankTab(context, url, `Rank ${rank}`)
  await room.until('status', ({ phase }) => phase === 'finished')
  const { records } = room
  await context.close()
  return records
}

function expectAlike(records: readonly StepRecord[], reference: readonly StepRecord[]): void {
  expect(records.length).toBe(reference.length)
  for (const [index, { loss, grad_norm, num_items }] of records.entries()) {
    const expected = reference[index]
    if (!expected) throw new Error(`update ${index + 1} is missing`)
    expect(num_items).toBe(expected.num_items)
    expect(Math.abs(loss / expected.loss - 1)).toBeLessThan(RELATIVE)
    expect(Math.abs(grad_norm / expected.grad_norm - 1)).toBeLessThan(RELATIVE)
  }
}

for (const { ranks, shares } of TABLE) {
  test(`[U3] ${ranks} tabs${shares && ` with ${shares}`} learn as one tab with 8 micro-batches does, and hold the same bits`, async () => {
    const records = await train(ranks, shares)
    expectAlike(records, alone)
    expect(records.every(({ state_hash, ranks: took }) => /^[0-9a-f]{64}$/.test(state_hash ?? '') && took === ranks)).toBe(true)
  })
}

test('the same run twice gives the same bits', async () => {
  const [first, second] = [await train(2, ''), await train(2, '')]
  expect(second.map(({ state_hash }) => state_hash)).toEqual(first.map(({ state_hash }) => state_hash))
  expect(second.map(({ loss }) => loss)).toEqual(first.map(({ loss }) => loss))
})

test('[M3] a tab that is closed while training changes no loss', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { ...OPTIONS, cli: 1, ranks: 3 })
  const { url } = await room.until('invite')
  const leaver = await openRankTab(context, url, 'Leaver')
  await openRankTab(context, url, 'Stayer')
  await room.until('record', ({ record }) => record.step === 3)
  await leaver.close({ runBeforeUnload: false })
  await room.until('status', ({ phase }) => phase === 'finished')
  expectAlike(room.records, alone)
  expect(room.records.at(-1)?.ranks).toBe(2)
  await context.close()
})

test('[M4] a tab that joins late takes part and changes no loss', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { ...OPTIONS, cli: 1, ranks: 1 })
  const { url } = await room.until('invite')
  await room.until('record', ({ record }) => record.step === 1)
  await openRankTab(context, url, 'Late')
  await room.until('status', ({ phase }) => phase === 'finished')
  expectAlike(room.records, alone)
  await context.close()
})
