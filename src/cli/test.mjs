// `npm test`: installs what is missing, a browser included, builds, and runs every test: unit tests in Node (shaders on Dawn),
// then tests with real tabs. The last line is `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, ensureBuild, ensurePackages, giveUp } from './prepare.mjs'

ensurePackages()
const { findBrowser } = await import('./find-browser.mjs')
const browser = await findBrowser().catch((cause) => giveUp(cause.message))
await ensureBuild()

const environment = { ...process.env, TABRING_BROWSER: browser }
const unitReport = join(ROOT, 'test-results', 'unit.json')
const tabReport = join(ROOT, 'test-results', 'tabs.json')
for (const report of [unitReport, tabReport]) rmSync(report, { force: true })

run('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${unitReport}`])
run('playwright', ['test'])

const unit = read(unitReport)
const tabs = read(tabReport)
const passed = (unit?.numPassedTests ?? 0) + (tabs?.stats.expected ?? 0)
// A skipped or flaky test, or a runner that ended without a report, is a failure: nothing here may pass by not running.
const failed =
  (unit ? unit.numFailedTests + unit.numPendingTests + unit.numTodoTests + brokenFiles(unit) : 1) +
  (tabs ? tabs.stats.unexpected + tabs.stats.skipped + tabs.stats.flaky + tabs.errors.length : 1)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)

/** @param {string} tool @param {string[]} args */
function run(tool, args) {
  spawnSync(process.execPath, [join(ROOT, 'node_modules', '.bin', tool), ...args], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env: environment })
}

/** @param {string} path */
function read(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null
}

/** Files that failed outside any test, say while loading. @param {any} unit */
function brokenFiles(unit) {
  return unit.testResults.filter((/** @type {any} */ file) => file.status === 'failed' && file.assertionResults.every((/** @type {any} */ one) => one.status === 'passed')).length
}
