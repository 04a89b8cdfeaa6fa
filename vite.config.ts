import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { sourceHash } from './src/cli/source-hash.mjs'
import { brokerPlugin } from './src/server/vite-plugin.ts'

/** The pages. The command line is built by `src/cli/build.mjs` with its own settings. */
export default defineConfig({
  plugins: [brokerPlugin()],
  define: { __BUILD_HASH__: JSON.stringify(sourceHash(fileURLToPath(new URL('.', import.meta.url)))) },
  resolve: {
    // The package's plain entry needs Node's globals; this is its own browser bundle.
    alias: [{ find: /^simple-peer$/, replacement: 'simple-peer/simplepeer.min.js' }],
  },
  build: {
    outDir: 'dist/web',
    target: 'es2022',
    rolldownOptions: { input: { index: 'index.html', join: 'join.html' } },
    chunkSizeWarningLimit: 700,
  },
  worker: { format: 'es' },
})
