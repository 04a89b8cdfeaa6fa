import { readFile } from 'node:fs/promises'
import { type Browser, type BrowserContext, type Page, expect, test } from '@playwright/test'
import { unzipFiles } from '../src/checkpoint/zip.ts'
import type { RunningServer } from '../src/server/serve.ts'
import { type Room, launchBrowser, openCoordinator, openRankTab, serveBuild } from './support/room.ts'

const OPTIONS = { preset: 'tiny', max_steps: 12, eval_strategy: 'no', sample_every: 0, logging_steps: 1, hash_every: 12, save_steps: 9, global_batch_size: 8 }

let browser: Browser
let server: RunningServer
let context: BrowserContext

test.beforeAll(async () => {
  browser = await launchBrowser()
  server = await serveBuild()
  context = await browser.newContext({ acceptDownloads: true })
})

test.afterAll(async () => {
  await browser.close()
  await server.close()
})

/** A room of two ranks that is ready to start. */
async function roomOfTwo(options: Readonly<Record<string, string | number>>): Promise<{ readonly room: Room; readonly guest: Page }> {
  const room = await openCoordinator(context, server.url, options)
  const { url } = await room.until('invite')
  const guest = await openRankTab(context, url, 'Guest')
  await expect(room.page.getByRole('row', { name: /Guest/ })).toContainText('ready', { timeout: 60_000 })
  await expect(room.page.getByRole('row', { name: /this tab/ })).toContainText('ready', { timeout: 60_000 })
  return { room, guest }
}

async function trained({ page }: Room, updates: number): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await expect(page.getByRole('status')).toContainText(`Finished after ${updates} updates`, { timeout: 120_000 })
}

function checkpoint(page: Page, name: string) {
  return page.getByRole('region', { name: 'Checkpoints in this browser' }).getByRole('listitem').filter({ hasText: name })
}

test('a run that the page goes on with from its own checkpoint has the bits of the straight one', async () => {
  const straight = await roomOfTwo(OPTIONS)
  await trained(straight.room, 12)
  await expect(checkpoint(straight.room.page, 'checkpoint-12')).toBeVisible()
  await straight.guest.close()
  await straight.room.close()

  // Another page of this browser, whose own options are others.
  const resumed = await roomOfTwo({ preset: 'book' })
  const { page } = resumed.room
  await checkpoint(page, 'checkpoint-9').getByRole('button', { name: 'Go on from here' }).click()
  await expect(page.getByRole('status')).toContainText('Ready to go on from checkpoint-9')
  await trained(resumed.room, 12)
  const before = straight.room.records.slice(9)
  expect(resumed.room.records.map(({ step }) => step)).toEqual([10, 11, 12])
  for (const [index, record] of resumed.room.records.entries()) {
    const { loss, grad_norm, learning_rate, epoch, state_hash } = before[index] ?? {}
    expect(record).toMatchObject({ loss, grad_norm, learning_rate, epoch, ...(state_hash ? { state_hash } : {}) })
  }
  expect(resumed.room.records.at(-1)?.state_hash).toMatch(/^[0-9a-f]{16,}$/)
  await resumed.guest.close()

  const arrived = page.waitForEvent('download')
  await checkpoint(page, 'checkpoint-9').getByRole('button', { name: 'Download' }).click()
  const files = unzipFiles(await readFile(await (await arrived).path()))
  expect(files.map(({ name }) => name.replace('checkpoint-9/', '')).sort()).toEqual([
    'README.md',
    'config.json',
    'generation_config.json',
    'model.safetensors',
    'optimizer.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
    'trainer_state.json',
    'training_args.json',
    'training_state.json',
  ])
  await resumed.room.close()
})

test('a checkpoint that contradicts what is chosen, is torn, or is deleted does no harm', async () => {
  const room = await openCoordinator(context, server.url, { preset: 'tiny' })
  const { page } = room
  await checkpoint(page, 'checkpoint-9').getByRole('button', { name: 'Go on from here' }).click()
  await expect(page.getByRole('status')).toContainText('Ready to go on from checkpoint-9', { timeout: 30_000 })
  await page.getByText('Run and log').click()
  await page.getByLabel('Seed').fill('7')
  await page.getByLabel('Seed').blur()
  await expect(page.getByText(/Cannot set seed to 7.*need 42, with which checkpoint-9 was trained/)).toBeVisible()
  await checkpoint(page, 'checkpoint-12').first().getByRole('button', { name: 'Go on from here' }).click()
  await expect(page.getByLabel('Updates', { exact: true })).toHaveValue('24')
  await page.getByRole('button', { name: 'Start from random weights instead' }).click()

  // What a tab that is closed in the middle of a write leaves behind.
  await page.evaluate(async () => {
    const runs = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints')
    const torn = await (await runs.getDirectoryHandle('torn-run', { create: true })).getDirectoryHandle('checkpoint-1-torn', { create: true })
    const file = await (await torn.getFileHandle('model.safetensors', { create: true })).createWritable()
    await file.write('half')
    await file.close()
  })
  const listed = await page.getByRole('region', { name: 'Checkpoints in this browser' }).getByRole('listitem').count()
  expect(listed).toBe(3)
  await page.reload()
  await expect(page.getByRole('region', { name: 'Checkpoints in this browser' }).getByRole('listitem')).toHaveCount(3)
  const left = await page.evaluate(async () => {
    const runs = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints')
    const names: string[] = []
    for await (const name of runs.keys()) names.push(name)
    return names
  })
  expect(left).not.toContain('torn-run')

  await checkpoint(page, 'checkpoint-9').getByRole('button', { name: 'Delete' }).click()
  await expect(checkpoint(page, 'checkpoint-9')).toHaveCount(0)
  await page.reload()
  await expect(page.getByRole('region', { name: 'Checkpoints in this browser' }).getByRole('listitem')).toHaveCount(2)
  await room.close()
})
