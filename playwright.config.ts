import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  testMatch: '**/*.e2e.ts',
  workers: 1,
  retries: 0,
  forbidOnly: true,
  timeout: 300_000,
  reporter: [['list'], ['json', { outputFile: 'test-results/tabs.json' }]],
  outputDir: 'test-results/artifacts',
})
