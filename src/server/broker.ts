import type { Server } from 'node:http'
import { Aedes } from 'aedes'
import { WebSocketServer, createWebSocketStream } from 'ws'

/** Largest MQTT message: an offer, a presence; training data goes from tab to tab. */
const MAX_MESSAGE_BYTES = 256 * 1024
/** Path of MQTT over WebSocket, as brokers have it. */
export const BROKER_PATH = '/mqtt'

/** What a peer may write to: its presence, or another peer's letter box; and read: presences of one room, its own letter box. */
const WRITABLE = /^room\/[a-z0-9-]{1,60}\/(peer|to\/[A-Za-z0-9-]{1,64})\/[A-Za-z0-9-]{1,64}$/
const READABLE = /^room\/[a-z0-9-]{1,60}\/(peer|to\/[A-Za-z0-9-]{1,64})\/\+$/

export interface Broker {
  close(): Promise<void>
}

/** Puts an MQTT broker on `server`'s own port. It sees only sealed payloads and keeps them in memory. */
export async function attachBroker(server: Server): Promise<Broker> {
  const aedes = await Aedes.createBroker({
    // Nobody listens to all rooms at once, or fills the memory with topics of their own.
    authorizeSubscribe: (_client, subscription, done) => done(null, READABLE.test(subscription.topic) ? subscription : null),
    authorizePublish: (_client, { topic }, done) => done(WRITABLE.test(topic) ? null : new Error(`Cannot publish to ${topic}: it is no topic of a room`)),
  })
  // Clients that misbehave are cut off, which is told here as well; nobody needs to hear of it.
  aedes.on('clientError', () => {})
  aedes.on('connectionError', () => {})
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, handleProtocols: (offered) => (offered.has('mqtt') ? 'mqtt' : false) })
  server.on('upgrade', (request, socket, head) => {
    if (request.url?.split('?')[0] !== BROKER_PATH) {
      // Other paths belong to others, such as Vite's own socket, if there are others.
      if (server.listenerCount('upgrade') === 1) socket.destroy()
      return
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      const stream = createWebSocketStream(client)
      // A client that breaks off is reported by its Last Will; an unhandled stream error would end the server.
      stream.on('error', () => stream.destroy())
      aedes.handle(stream, request)
    })
  })
  return {
    close: async () => {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
    },
  }
}
