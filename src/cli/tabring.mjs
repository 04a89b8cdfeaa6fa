#!/usr/bin/env node
// The command `tabring`: installs and builds what is missing, then runs the built command line.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuild, ensurePackages, markUsed } from './prepare.mjs'

ensurePackages()
const built = await ensureBuild()
markUsed(built)
const { main } = await import(pathToFileURL(join(built, 'node', 'main.mjs')).href)
await main(process.argv.slice(2))
