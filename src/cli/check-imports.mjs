// The walls of the house: imports go downwards only, no cycles, and each wrapped package has one door file.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** What each room may import, besides itself. */
const ROOMS = {
  base: [],
  protocol: ['base'],
  engine: ['base'],
  nn: ['base', 'engine'],
  optim: ['base', 'engine', 'nn'],
  data: ['base', 'protocol'],
  checkpoint: ['base', 'protocol'],
  // Formats of files and the way to the relay: for pages, scripts and the server.
  trackers: ['base', 'protocol'],
  transport: ['base', 'protocol'],
  collectives: ['base', 'protocol', 'transport'],
  parallel: ['base', 'engine', 'nn', 'collectives'],
  train: ['base', 'protocol', 'engine', 'nn', 'optim', 'data', 'checkpoint', 'collectives', 'parallel'],
  // For scripts: what `import … from 'tabring'` gives.
  accelerate: ['base', 'engine', 'nn', 'optim', 'data', 'checkpoint', 'collectives', 'parallel', 'train', 'protocol', 'trackers'],
  ui: ['base', 'protocol'],
  rank: ['base', 'protocol', 'engine', 'nn', 'optim', 'data', 'checkpoint', 'transport', 'collectives', 'parallel', 'train', 'ui'],
  coordinator: ['base', 'protocol', 'data', 'trackers', 'transport', 'checkpoint', 'ui'],
  server: ['base', 'protocol', 'trackers'],
  // It unpacks the model that the page hands over.
  cli: ['base', 'protocol', 'server', 'trackers', 'checkpoint'],
}

/** Packages that only one file may import. */
const DOORS = ['simple-peer', 'mqtt', 'comlink', 'idb-keyval', 'uplot', 'fflate', '@huggingface/tokenizers', 'aedes']

const TYPE_ONLY = /^(?:import|export) type\s[^'"]*?from\s*['"][^'"]+['"]/gm
const IMPORT = /(?:import|export)\s[^'"]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|^import\s+['"]([^'"]+)['"]/gm

/**
 * @param {string} src the folder of the rooms
 * @returns {string[]} a sentence for each breach
 */
export function findBreaches(src) {
  const files = filesBelow(src).filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/\.spec\.tsx?$/.test(file) && !file.includes('/testing/'))
  const imports = new Map(files.map((file) => [file, importsOf(file, true)]))
  // A type may name its user: nothing is loaded in a circle then.
  const loaded = new Map(files.map((file) => [file, importsOf(file, false)]))
  return [...wallBreaches(src, imports), ...cycles(src, loaded), ...doorBreaches(src, imports)]
}

/** @param {string} src @param {Map<string, string[]>} imports */
function wallBreaches(src, imports) {
  /** @type {string[]} */
  const breaches = []
  for (const [file, wanted] of imports) {
    const room = roomOf(src, file)
    for (const target of wanted.filter((one) => one.startsWith('/'))) {
      const other = roomOf(src, target)
      if (other === room || other === '..') continue
      const allowed = /** @type {Record<string, string[]>} */ (ROOMS)[room]
      if (!allowed?.includes(other)) breaches.push(`${relative(src, file)} imports ${relative(src, target)}: ${room} may import ${allowed?.join(', ') || 'nothing'}`)
    }
  }
  return breaches
}

/** @param {string} src @param {Map<string, string[]>} imports */
function cycles(src, imports) {
  /** @type {Map<string, 'open' | 'done'>} */
  const seen = new Map()
  /** @type {string[]} */
  const found = []
  /** @param {string} file @param {string[]} path */
  const visit = (file, path) => {
    if (seen.get(file) === 'done') return
    if (seen.get(file) === 'open') {
      found.push(`import cycle: ${[...path.slice(path.indexOf(file)), file].map((one) => relative(src, one)).join(' -> ')}`)
      return
    }
    seen.set(file, 'open')
    for (const target of imports.get(file) ?? []) if (imports.has(target)) visit(target, [...path, file])
    seen.set(file, 'done')
  }
  for (const file of imports.keys()) visit(file, [])
  return found
}

/** @param {string} src @param {Map<string, string[]>} imports */
function doorBreaches(src, imports) {
  return DOORS.flatMap((name) => {
    const users = [...imports].filter(([, wanted]) => wanted.some((one) => one === name || one.startsWith(`${name}/`))).map(([file]) => relative(src, file))
    return users.length > 1 ? [`${name} is imported by ${users.join(' and ')}: one door file is enough`] : []
  })
}

/** Absolute paths of files, names of packages. @param {string} file @param {boolean} types whether imports of types alone count */
function importsOf(file, types) {
  const text = readFileSync(file, 'utf8')
  return [...(types ? text : text.replace(TYPE_ONLY, '')).matchAll(IMPORT)].map((match) => {
    const target = (match[1] ?? match[2] ?? match[3] ?? '').replace(/\?.*$/, '')
    return target.startsWith('.') ? resolve(dirname(file), target) : target
  })
}

/** @param {string} src @param {string} file */
function roomOf(src, file) {
  return relative(src, file).split('/')[0] ?? ''
}

/** @param {string} folder @returns {string[]} */
function filesBelow(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })
}
