import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mqtt from 'mqtt'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningServer, startServer } from './serve.ts'

let webRoot = ''
let server: RunningServer

beforeAll(async () => {
  webRoot = await mkdtemp(join(tmpdir(), 'tabring-web-'))
  await mkdir(join(webRoot, 'assets'))
  await writeFile(join(webRoot, 'index.html'), 'coordinator')
  await writeFile(join(webRoot, 'join.html'), 'joining page')
  await writeFile(join(webRoot, 'assets', 'app-1a2b.js'), 'code')
  server = await startServer({ port: 0, host: '127.0.0.1', webRoot })
})

afterAll(async () => {
  await server.close()
  await rm(webRoot, { recursive: true })
})

const ask = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`)
const client = (options: mqtt.IClientOptions = {}) => mqtt.connectAsync(`ws://127.0.0.1:${server.port}/mqtt`, options)

test('pages are asked for anew each time, hashed files are kept', async () => {
  for (const [path, body, caching] of [
    ['/', 'coordinator', 'no-cache'],
    ['/join?room=a-b-c', 'joining page', 'no-cache'],
    ['/assets/app-1a2b.js', 'code', 'public, max-age=31536000, immutable'],
  ] as const) {
    const response = await ask(path)
    expect([response.status, await response.text(), response.headers.get('Cache-Control')]).toEqual([200, body, caching])
  }
})

test('what is not there, and what lies outside the folder, is a 404 with a sentence', async () => {
  for (const path of ['/nothing', '/..%2f..%2fetc/passwd', '/%2e%2e/%2e%2e/etc/passwd']) {
    const response = await ask(path)
    expect(response.status, path).toBe(404)
    expect(await response.text()).toContain('There is no such page')
  }
})

test('a taken port and a folder without pages are refused with a sentence', async () => {
  await expect(startServer({ port: server.port, host: '127.0.0.1', webRoot })).rejects.toThrow(`Cannot listen on port ${server.port}: another program listens there`)
  await expect(startServer({ port: 0, host: '127.0.0.1', webRoot: join(webRoot, 'assets') })).rejects.toThrow('it has no index.html, need a build')
})

test('[J2] a retained presence is there for who comes later, and the Last Will clears it', async () => {
  const topic = 'room/red-green-blue/peer/ada'
  const ada = await client({ will: { topic, payload: Buffer.alloc(0), retain: true, qos: 1 } })
  await ada.publishAsync(topic, 'here', { retain: true, qos: 1 })
  const ben = await client()
  const heard: string[] = []
  ben.on('message', (_, payload) => heard.push(payload.toString()))
  await ben.subscribeAsync('room/red-green-blue/peer/+', { qos: 1 })
  await expect.poll(() => heard).toEqual(['here'])
  ada.stream.destroy()
  await expect.poll(() => heard).toEqual(['here', ''])
  await Promise.all([ada.endAsync(true), ben.endAsync(true)])
})

test('[J3] nobody can listen to all rooms or to the letters of all peers', async () => {
  const spy = await client()
  for (const topic of ['#', 'room/#', 'room/+/peer/+', 'room/a-b-c/to/+/+', '$SYS/#']) await expect(spy.subscribeAsync(topic, { qos: 1 }), topic).rejects.toThrow()
  await spy.endAsync(true)
})

test('[J6] broken requests and messages that are too large do not end the server', async () => {
  for (const path of ['//', '/other', '/mqtt']) {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, 'mqtt')
    socket.on('error', () => {})
    socket.on('open', () => socket.send(new Uint8Array(1_000_000)))
    await new Promise((resolve) => socket.on('close', resolve))
  }
  const writer = await client()
  writer.on('error', () => {})
  writer.publish('some/topic', 'x', { qos: 0 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  await writer.endAsync(true)
  expect((await ask('/')).status).toBe(200)
})
