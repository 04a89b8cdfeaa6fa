import AxeBuilder from '@axe-core/playwright'
import { readFile } from 'node:fs/promises'
import { type Browser, type Page, expect, test } from '@playwright/test'
import { readModelFolder } from '../src/checkpoint/hf-folder.ts'
import { unzipFiles } from '../src/checkpoint/zip.ts'
import { prepareRun } from '../src/coordinator/prepare-run.ts'
import { buildBlocks } from '../src/data/block-corpus.ts'
import { plainText } from '../src/data/build-corpus.ts'
import type { Tokenizer } from '../src/data/tokenizer.ts'
import { resolveOptions } from '../src/protocol/presets.ts'
import { gpt2Loss } from './support/gpt2-reference.ts'
import { tokenizerFromJson } from '../src/data/tokenizer-from-json.ts'
import type { RunningServer } from '../src/server/serve.ts'
import { joinRoom, launchBrowser, openCoordinator, serveBuild } from './support/room.ts'

let browser: Browser
let server: RunningServer

test.beforeAll(async () => {
  browser = await launchBrowser()
  server = await serveBuild()
})

test.afterAll(async () => {
  await browser.close()
  await server.close()
})

async function expectNoViolations(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).exclude('iframe').analyze()
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([])
}

async function expectNoSideScroll(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0)
}

const OPTIONS = { preset: 'tiny', max_steps: 6, eval_steps: 3, sample_every: 3, logging_steps: 2 }

async function bookOf(page: Page): Promise<string> {
  const url = await page.evaluate(() => performance.getEntriesByType('resource').find(({ name }) => name.endsWith('.txt'))?.name)
  const response = await fetch(url ?? '')
  return (await response.text()).trim()
}

/** What a run with these options measures its validation loss on, as the saved tokenizer reads it. */
async function heldOutRows(text: string, tokenizer: Tokenizer, options: Readonly<Record<string, unknown>>): Promise<Uint32Array[]> {
  const {
    settings,
    options: { block_size, validation_split_percentage },
  } = await prepareRun(plainText(text), resolveOptions(options), 2)
  const { tokens } = buildBlocks(text, tokenizer, { blockSize: block_size, validationFraction: validation_split_percentage / 100 })
  return settings.evalSamples.map((sample) => Uint32Array.from(tokens.subarray(sample * block_size, (sample + 1) * block_size)))
}

test('from consent to the model at home: two tabs, pressed by hand', async () => {
  const context = await browser.newContext({ acceptDownloads: true })
  const room = await openCoordinator(context, server.url, OPTIONS)
  const { page } = room
  const invite = await page.getByRole('textbox', { name: 'Invitation link' }).inputValue()
  const guest = await joinRoom(context, invite, 'Guest')
  await expect(page.getByRole('row', { name: /Guest/ })).toContainText('ready')
  await expect(page.getByRole('row', { name: /this tab/ })).toContainText('ready')
  await expect(page.getByText('Moby Dick')).toBeVisible()

  await page.getByRole('button', { name: 'Start' }).click()
  await expect(page.getByRole('status')).toContainText('Finished after 6 updates', { timeout: 120_000 })
  await expect(page).toHaveTitle(/loss \d\.\d\d · Tabring/)
  await expect(guest.getByRole('status')).toContainText('Training is finished')
  await expect(guest.getByText('Tokens computed')).toBeVisible()
  await expect(page.locator('pre.sample').first()).not.toBeEmpty()
  expect(room.evaluations.length).toBe(2)

  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save model' }).click()
  const files = unzipFiles(await readFile(await (await download).path()))
  const names = files.map(({ name }) => name.replace(/^.*\//, '')).sort()
  expect(names).toEqual([
    'README.md',
    'config.json',
    'generation_config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
    'trainer_state.json',
    'training_args.json',
  ])
  const model = readModelFolder(files)
  const { config, tensors, tokenizerFiles } = model
  expect(tensors.get('transformer.wte.weight')?.shape).toEqual([config['vocab_size'], 32])
  if (!tokenizerFiles) throw new Error('the folder has no tokenizer')
  const tokenizer = tokenizerFromJson(tokenizerFiles)
  const evaluated = room.evaluations.at(-1)?.eval_loss ?? Number.NaN
  expect(Math.abs(gpt2Loss(model, await heldOutRows(await bookOf(page), tokenizer, OPTIONS)) / evaluated - 1)).toBeLessThan(1e-5)
  expect(tokenizer.decode(tokenizer.encode('Call me Ishmael.'))).toBe('Call me Ishmael.')
  const state = JSON.parse(new TextDecoder().decode(files.find(({ name }) => name.endsWith('trainer_state.json'))?.bytes))
  expect(state.global_step).toBe(6)
  expect(state.log_history.filter((entry: object) => 'grad_norm' in entry).map(({ step }: { step: number }) => step)).toEqual([2, 4, 6])
  await context.close()
})

for (const scheme of ['light', 'dark'] as const) {
  for (const [device, viewport] of [
    ['desktop', { width: 1280, height: 900 }],
    ['phone', { width: 360, height: 740 }],
  ] as const) {
    test(`both pages pass axe and fit a ${device} in ${scheme}`, async () => {
      const context = await browser.newContext({ colorScheme: scheme, viewport })
      const room = await openCoordinator(context, server.url, { preset: 'tiny', max_steps: 2, eval_strategy: 'no', sample_every: 0, cli: 1, ranks: 1 })
      await room.until('status', ({ phase }) => phase === 'finished')
      await expectNoViolations(room.page)
      await expectNoSideScroll(room.page)
      const { url } = await room.until('invite')
      const guest = await context.newPage()
      await guest.goto(url)
      await expect(guest.getByRole('button', { name: 'Join', exact: true })).toBeEnabled()
      await expectNoViolations(guest)
      await expectNoSideScroll(guest)
      await guest.keyboard.press('Tab')
      await context.close()
    })
  }
}

test('a text file of one’s own is trained on; an empty, a binary and a too short one are refused with a sentence', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { preset: 'tiny', max_steps: 2, eval_strategy: 'no', sample_every: 0 })
  const { page } = room
  await expect(page.getByText('Moby Dick')).toBeVisible()
  const choose = (name: string, buffer: Buffer) => page.locator('input[name=train_file]').setInputFiles({ name, mimeType: 'text/plain', buffer })
  await choose('empty.txt', Buffer.from(''))
  await expect(page.getByRole('alert')).toContainText('empty.txt')
  await choose('picture.png', Buffer.from([0x89, 0x50, 0, 0, 0, 1, 2, 0xff, 0xfe]))
  await expect(page.getByRole('alert')).toContainText('picture.png')
  await expect(page.getByText('Moby Dick')).toBeVisible()
  await choose('short.txt', Buffer.from('a few words only'))
  await expect(page.getByRole('alert')).toContainText('short.txt')
  await choose('little.txt', Buffer.from('not enough for a block of 32 to hold out '.repeat(3)))
  await page.getByRole('button', { name: 'Start' }).click()
  await expect(page.getByRole('status')).toContainText('need at least one block of 32')
  await choose('mine.txt', Buffer.from('all work and no play makes jack a dull boy. '.repeat(200)))
  await page.getByRole('button', { name: 'Start' }).click()
  await expect(page.getByRole('status')).toContainText('Finished after 2 updates', { timeout: 60_000 })
  await context.close()
})

test('a tab whose hello comes before the coordinator’s end of the connection is ready is let in', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { preset: 'tiny', compute_here: 0 })
  const { url } = await room.until('invite')
  await room.page.evaluate(() => {
    // simple-peer asks for these before it says that it is connected.
    const { getStats } = RTCPeerConnection.prototype
    RTCPeerConnection.prototype.getStats = async function () {
      await new Promise((done) => setTimeout(done, 1_500))
      return getStats.call(this)
    }
  })
  await joinRoom(context, url, 'Hasty')
  await expect(room.page.getByRole('row', { name: /Hasty/ })).toContainText('ready', { timeout: 30_000 })
  await context.close()
})

test('a rank that never connects is told so on its page and in the table, and the others train', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, OPTIONS)
  const { url } = await room.until('invite')
  const shut = await browser.newContext()
  // Through relays only, of which there is none: as behind a firewall.
  await shut.addInitScript(() => {
    const Connection = RTCPeerConnection
    globalThis.RTCPeerConnection = class extends Connection {
      constructor(configuration?: RTCConfiguration) {
        super({ ...configuration, iceTransportPolicy: 'relay' })
      }
    }
  })
  const guest = await joinRoom(shut, url, 'Walled')
  await expect(guest.getByRole('status')).toContainText('No connection to the coordinator', { timeout: 60_000 })
  await expect(guest.getByText(/no direct connection within 15 s; a firewall or a guest network may block it/)).toBeVisible()
  await expect(room.page.getByRole('row', { name: /Walled/ })).toContainText('left', { timeout: 30_000 })
  await room.page.getByRole('button', { name: 'Start' }).click()
  await expect(room.page.getByRole('status')).toContainText('Finished after 6 updates', { timeout: 120_000 })
  await shut.close()
  await context.close()
})

test('a pause is told to everyone, and ends', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { ...OPTIONS, max_steps: 500 })
  const { page } = room
  const guest = await joinRoom(context, (await room.until('invite')).url, 'Guest')
  await expect(page.getByRole('row', { name: /Guest/ })).toContainText('ready')
  await page.getByRole('button', { name: 'Start' }).click()
  await room.until('record')
  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByRole('status')).toContainText('Paused')
  await expect(guest.getByRole('status')).toContainText('Paused by the coordinator')
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(guest.getByRole('status')).toContainText('Training')
  const { length } = room.records
  await expect.poll(() => room.records.length).toBeGreaterThan(length + 2)
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect(page.getByRole('status')).toContainText('Finished after')
  await context.close()
})

test('without the book the page still opens, says so, and trains on a file', async () => {
  const context = await browser.newContext()
  await context.route(/\.txt$/, (route) => route.fulfill({ status: 503 }))
  const room = await openCoordinator(context, server.url, OPTIONS)
  await expect(room.page.getByRole('alert')).toContainText('Cannot load the book: the server answered 503, need 200')
  await expect(room.page.getByRole('button', { name: 'Start' })).toBeDisabled()
  await room.page.locator('input[name=train_file]').setInputFiles({ name: 'own.txt', mimeType: 'text/plain', buffer: Buffer.from('my own small text. '.repeat(200)) })
  await expect(room.page.getByRole('button', { name: 'Start' })).toBeEnabled({ timeout: 30_000 })
  await expect(room.page.getByRole('alert')).toBeHidden()
  await context.close()
})

test('[J4] a tab of another build is told to reload and the room does not notice', async () => {
  const context = await browser.newContext()
  const room = await openCoordinator(context, server.url, { preset: 'tiny' })
  const { url } = await room.until('invite')
  const old = await browser.newContext()
  await old.route(/assets\/join-.*\.js/, async (route) => {
    const response = await route.fetch()
    const body = (await response.text()).replaceAll(/(["'`])[0-9a-f]{12}\1/g, '$1000000000000$1')
    await route.fulfill({ response, body })
  })
  const guest = await joinRoom(old, url, 'Old')
  await expect(guest.getByRole('status')).toContainText('another version', { timeout: 30_000 })
  await expect(guest.getByText(/reload this page/i)).toBeVisible()
  await expect(room.page.getByRole('row', { name: /Old/ })).not.toContainText('ready')
  await old.close()
  await context.close()
})

test('a room that does not exist, a link without a key and a browser without WebGPU say so', async () => {
  const context = await browser.newContext()
  const guest = await joinRoom(context, `${server.url}/join?room=no-such-room#k=${'A'.repeat(43)}`, 'Lost')
  await expect(guest.getByRole('status')).toContainText('Nobody coordinates room no-such-room', { timeout: 30_000 })
  await guest.goto(`${server.url}/join?room=no-such-room`)
  await expect(guest.getByRole('alert')).toContainText('names no room, or its key is missing')
  await context.close()
  const bare = await browser.newContext()
  await bare.addInitScript(() => Object.defineProperty(navigator, 'gpu', { value: undefined }))
  const page = await bare.newPage()
  await page.goto(server.url)
  await expect(page.getByText('The browser has no WebGPU.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Start' })).toBeDisabled()
  await bare.close()
})

test('an impossible option in the address is refused with its name, its value and what is allowed; a possible one is taken', async () => {
  const page = await browser.newPage()
  await page.goto(`${server.url}/?learning_rate=fast`)
  await expect(page.getByRole('alert')).toContainText('Cannot set learning_rate to "fast": need a number from 0 to 100')
  await page.goto(`${server.url}/?preset=tiny&model_type=llama`)
  await expect(page.getByText(/A Llama model with .* parameters/)).toBeVisible({ timeout: 30_000 })
  await page.close()
})
