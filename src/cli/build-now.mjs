// `npm run build`: pages into dist/web, command line into dist/node.
import { ensureBuild, ensurePackages } from './prepare.mjs'

ensurePackages()
await ensureBuild()
