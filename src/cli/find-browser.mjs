import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where Chromium and Chrome usually are. */
const USUAL = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
]

/** Chromium with WebGPU, on SwiftShader where there is no GPU, and nothing that calls home. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
]

/** @returns {Promise<string | null>} TABRING_BROWSER, one in a usual place, or Playwright's own */
export async function installedBrowser() {
  const named = process.env['TABRING_BROWSER']
  if (named) {
    if (existsSync(named)) return named
    throw new Error(`Cannot use TABRING_BROWSER=${named}: there is no such file`)
  }
  return USUAL.find((path) => existsSync(path)) ?? (await playwrightBrowser())
}

/**
 * An installed browser, or one installed now: Debian's package as root, else Playwright's.
 * @returns {Promise<string>}
 * @throws {Error} a sentence that says what to do, when no browser can be had
 */
export async function findBrowser() {
  const found = await installedBrowser()
  if (found) return found
  if (process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    process.stderr.write('Installing Chromium (once) ...\n')
    const apt = (/** @type {string[]} */ ...args) =>
      spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 2], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }).status === 0
    apt('update', '-qq')
    if (apt('install', '-y', '-qq', '--no-install-recommends', 'chromium')) return (await installedBrowser()) ?? '/usr/bin/chromium'
  }
  process.stderr.write("Installing Playwright's Chromium (once) ...\n")
  spawnSync('npx', ['playwright', 'install', 'chromium'], { stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
  const installed = await playwrightBrowser()
  if (installed) return installed
  throw new Error('Cannot find a browser: install Chromium or Google Chrome, or set TABRING_BROWSER to one, then run the command again')
}

/** @returns {Promise<string | null>} */
async function playwrightBrowser() {
  const { chromium } = await import('playwright')
  const path = chromium.executablePath()
  return existsSync(path) ? path : null
}

/**
 * Environment for Dawn, the WebGPU of Node: the software adapter and the Vulkan loader that Chromium brings along. Only Linux needs
 * them, and a caller's own VK_ICD_FILENAMES stands.
 * @param {string | null} browser
 * @returns {Record<string, string>}
 * @throws {Error} a sentence that says what to do, when there is no software adapter
 */
export function dawnEnvironment(browser) {
  if (process.env['VK_ICD_FILENAMES'] || process.platform !== 'linux') return {}
  const places = [...(browser ? [dirname(realpathSync(browser))] : []), '/usr/lib/chromium']
  const folder = places.find((path) => existsSync(join(path, 'vk_swiftshader_icd.json')))
  if (!folder)
    throw new Error(
      `Cannot test shaders in Node: there is no vk_swiftshader_icd.json in ${places.join(' or ')}, need Chromium (apt install chromium, or npx playwright install chromium), or VK_ICD_FILENAMES set to a Vulkan driver`,
    )
  const libraries = [process.env['LD_LIBRARY_PATH'], folder].filter(Boolean).join(':')
  return { VK_ICD_FILENAMES: join(folder, 'vk_swiftshader_icd.json'), LD_LIBRARY_PATH: libraries }
}
