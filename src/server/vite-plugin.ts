import type { Server } from 'node:http'
import type { Plugin } from 'vite'

/** Puts the broker beside Vite's development server, as `tabring serve` puts it beside the built pages. */
export function brokerPlugin(): Plugin {
  return {
    name: 'tabring-broker',
    apply: 'serve',
    async configureServer({ httpServer }) {
      if (!httpServer) return // in middleware mode the server is somebody else's
      const { attachBroker } = await import('./broker.ts')
      const broker = await attachBroker(httpServer as Server)
      httpServer.on('close', () => void broker.close())
    },
  }
}
