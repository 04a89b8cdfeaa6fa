// `npm run dev`: the pages from their sources, reloaded as these change, with the broker on the same port.
import { ROOT, ensurePackages } from './prepare.mjs'

ensurePackages()
const { createServer } = await import('vite')
const server = await createServer({ root: ROOT })
await server.listen()
server.printUrls()
