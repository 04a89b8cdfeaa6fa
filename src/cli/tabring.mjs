#!/usr/bin/env node
// The command `tabring`: installs and builds what is missing, then runs the built command line.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, ensureBuild, ensurePackages } from './prepare.mjs'

ensurePackages()
await ensureBuild()
const { main } = await import(pathToFileURL(join(ROOT, 'dist', 'node', 'main.mjs')).href)
await main(process.argv.slice(2))
