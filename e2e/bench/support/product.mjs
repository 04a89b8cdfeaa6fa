import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, runnerImport } from 'vite'

/**
 * The product's own pages, built from the sources as they are now and served with its broker.
 * @param {string} root
 * @returns {Promise<{ url: string, room: typeof import('../../support/room.ts'), close: () => Promise<void> }>} `room` opens its pages
 */
export async function serveProduct(root) {
  const webRoot = mkdtempSync(join(tmpdir(), 'tabring-bench-'))
  await build({ root, logLevel: 'warn', build: { outDir: webRoot, emptyOutDir: true } })
  const { startServer } = await load('src/server/serve.ts')
  const server = await startServer({ port: 0, host: '127.0.0.1', webRoot })
  return {
    url: server.url,
    room: await load('e2e/support/room.ts'),
    close: async () => {
      await server.close()
      rmSync(webRoot, { recursive: true, force: true })
    },
  }

  /** @param {string} file TypeScript, which Node 20 does not read by itself */
  async function load(file) {
    return (await runnerImport(join(root, file), { root, configFile: false, logLevel: 'warn' })).module
  }
}
