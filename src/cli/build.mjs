import { join } from 'node:path'
import { build as viteBuild } from 'vite'

/** A slow moment of the machine is not worth a warning to whoever just wants to start. */
const CHECKS = { pluginTimings: false }

/**
 * Builds the pages into `out`/web and the command line into `out`/node.
 * @param {string} root
 * @param {string} out
 */
export async function build(root, out) {
  await viteBuild({ root, logLevel: 'warn', build: { outDir: join(out, 'web'), emptyOutDir: true, rolldownOptions: { checks: CHECKS } } })
  await viteBuild({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      ssr: join(root, 'src/cli/main.ts'),
      outDir: join(out, 'node'),
      emptyOutDir: true,
      target: 'node20',
      rolldownOptions: { checks: CHECKS, output: { entryFileNames: 'main.mjs' } },
    },
  })
}
