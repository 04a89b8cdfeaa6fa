import { defineConfig } from 'vitest/config'
import { dawnEnvironment, installedBrowser } from './src/cli/find-browser.mjs'

// Forks inherit it. A loader reads its path only as a process starts, so vitest's own `env` would come too late.
Object.assign(process.env, dawnEnvironment(await installedBrowser()))

export default defineConfig({
  test: {
    include: ['src/**/*.spec.ts'],
    // Dawn, the WebGPU of Node, must not share a process with another copy of itself.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
