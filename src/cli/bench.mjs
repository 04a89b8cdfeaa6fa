// `npm run bench [name...] [-- --rounds=N]`: speed against peers, interleaved in one browser. Each name is a module e2e/bench/<name>.mjs
// that exports `run(context)` and returns rows; they are printed and appended to e2e/bench/results/<name>.jsonl.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, ensurePackages, giveUp } from './prepare.mjs'

ensurePackages()
const { findBrowser } = await import('./find-browser.mjs')
const browser = await findBrowser().catch((cause) => giveUp(cause.message))
const folder = join(ROOT, 'e2e', 'bench')
const known = readdirSync(folder)
  .filter((name) => name.endsWith('.mjs'))
  .map((name) => name.slice(0, -'.mjs'.length))

const words = process.argv.slice(2)
const names = words.filter((word) => !word.startsWith('--'))
const options = Object.fromEntries(words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')))
for (const name of names) if (!known.includes(name)) giveUp(`Cannot run bench ${name}: need one of ${known.join(', ')}`)

const { openContext } = await import(pathToFileURL(join(folder, 'support', 'context.mjs')).href)
for (const name of names.length > 0 ? names : known) {
  const bench = await import(pathToFileURL(join(folder, `${name}.mjs`)).href)
  const context = await openContext({ root: ROOT, browser, options })
  try {
    context.report(name, await bench.run(context))
  } finally {
    await context.close()
  }
}
