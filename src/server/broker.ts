import type { Server } from 'node:http'
import { Aedes } from 'aedes'
import { WebSocketServer, createWebSocketStream } from 'ws'

/** Largest MQTT message: an offer, a presence; training data goes from tab to tab. */
const MAX_MESSAGE_BYTES = 256 * 1024
/** Path of MQTT over WebSocket, as brokers have it. */
export const BROKER_PATH = '/mqtt'

export interface Broker {
  close(): Promise<void>
}

/** Puts an MQTT broker on `server`'s own port. It sees only sealed payloads and keeps them in memory. */
export async function attachBroker(server: Server): Promise<Broker> {
  const aedes = await Aedes.createBroker()
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, handleProtocols: (offered) => (offered.has('mqtt') ? 'mqtt' : false) })
  server.on('upgrade', (request, socket, head) => {
    // Other paths belong to others, such as Vite's own socket.
    if (new URL(request.url ?? '/', 'http://localhost').pathname !== BROKER_PATH) return
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
