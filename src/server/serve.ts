import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { attachBroker } from './broker.ts'
import { staticFiles } from './static.ts'

export interface ServeOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** `127.0.0.1` for this computer only, `0.0.0.0` for the network. */
  readonly host: string
  /** Folder of the built pages. */
  readonly webRoot: string
  /** Is asked first; returns whether it answers the request. */
  readonly handle?: (request: IncomingMessage, response: ServerResponse) => boolean
}

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Addresses for other devices; empty when only this computer is served. */
  readonly lanUrls: readonly string[]
  close(): Promise<void>
}

/** Serves the pages and the broker on one port. @throws a sentence when the port is taken or the pages are not built. */
export async function startServer({ port, host, webRoot, handle = () => false }: ServeOptions): Promise<RunningServer> {
  if (!existsSync(join(webRoot, 'index.html'))) throw new Error(`Cannot serve ${webRoot}: it has no index.html, need a build`)
  const pages = staticFiles(webRoot)
  const server = createServer((request, response) => {
    if (!handle(request, response)) pages(request, response)
  })
  const broker = await attachBroker(server)
  try {
    await listen(server, port, host)
  } catch (cause) {
    await broker.close()
    throw cause
  }
  const address = server.address()
  const taken = typeof address === 'object' && address ? address.port : port
  return {
    url: `http://localhost:${taken}`,
    port: taken,
    lanUrls: host === '0.0.0.0' ? lanAddresses().map((ip) => `http://${ip}:${taken}`) : [],
    close: async () => {
      await broker.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'another program listens there, need a free port (try --port)' : cause.message
      reject(new Error(`Cannot listen on port ${port}: ${why}`, { cause }))
    })
    server.listen(port, host, resolve)
  })
}

function lanAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address))
}
