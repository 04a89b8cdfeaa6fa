import { createServer } from 'node:http'
import { Aedes } from 'aedes'
import { createWebSocketStream, WebSocketServer } from 'ws'

/** A bare broker, as foreign ones are, under a test's thumb. */
export interface TestBroker {
  readonly origin: string
  /** WebSocket address. */
  readonly url: string
  /** Cuts a client's connection as a lost network would. */
  drop(clientId: string): void
  publish(topic: string, payload: string): Promise<void>
  close(): Promise<void>
}

export async function openTestBroker(): Promise<TestBroker> {
  const server = createServer()
  const aedes = await Aedes.createBroker()
  const clients = new Map<string, () => void>()
  const sockets = new WebSocketServer({ server, path: '/mqtt' })
  sockets.on('connection', (socket) => {
    const stream = createWebSocketStream(socket)
    stream.on('error', () => stream.destroy())
    aedes.handle(stream)
  })
  aedes.on('client', (client) => clients.set(client.id, () => client.conn.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  let closed = false
  return {
    origin: `http://127.0.0.1:${port}`,
    url: `ws://127.0.0.1:${port}/mqtt`,
    drop: (clientId) => clients.get(clientId)?.(),
    publish: (topic, payload) =>
      new Promise((resolve, reject) => {
        aedes.publish({ cmd: 'publish', topic, payload, qos: 1, retain: true, dup: false }, (cause) => (cause ? reject(cause) : resolve()))
      }),
    close: async () => {
      if (closed) return
      closed = true
      for (const client of sockets.clients) client.terminate()
      sockets.close()
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
