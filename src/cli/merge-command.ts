import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { mergeAdapter } from '../checkpoint/merge-adapter.ts'
import { INDEX_FILE, joinShards, parseShardIndex } from '../checkpoint/shards.ts'
import { OptionError } from '../protocol/options.ts'
import { modelUnder, readAdapterFolder } from './adapter-start.ts'
import { checkFolder } from './model-start.ts'
import { readObject } from './run-start.ts'
import { statPath, whyNotWritable } from './stat-path.ts'

export interface MergeSettings {
  /** Null for the one that the adapter names. */
  readonly model: string | null
  readonly adapter: string
  readonly outputDir: string
  readonly overwrite: boolean
}

/** What of a model's folder goes with its weights. */
const COPIED = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'chat_template.jinja'] as const

/** Writes a model's folder with an adapter added to its weights. @throws OptionError for folders that are none, and as `mergeAdapter`. */
export function merge(settings: MergeSettings): void {
  const adapter = readAdapterFolder(settings.adapter)
  const path = modelUnder(adapter, settings.model)
  const folder = resolve(path)
  checkFolder(path, folder)
  checkOutput(settings, folder)
  const config = readObject(folder, 'config.json')
  const merged = mergeAdapter(readWeights(folder), adapter.modules, { config: adapter.config, model: config })
  mkdirSync(settings.outputDir, { recursive: true })
  for (const name of COPIED) if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(settings.outputDir, name))
  writeFileSync(join(settings.outputDir, 'model.safetensors'), merged)
  process.stdout.write(`Merged ${adapter.modules.length} modules of ${settings.adapter} into ${path}; the model is in ${settings.outputDir}\n`)
}

function checkOutput({ outputDir, overwrite }: MergeSettings, model: string): void {
  const folder = resolve(outputDir)
  const there = statPath(folder)
  if (there && !there.isDirectory()) throw new OptionError('output_dir', outputDir, { allowed: 'a folder; this is a file' })
  if (folder === model) throw new OptionError('output_dir', outputDir, { allowed: "another folder than the model's" })
  const problem = whyNotWritable(folder)
  if (problem !== null) throw new OptionError('output_dir', outputDir, { allowed: `a folder that can be written; ${problem}` })
  if (!overwrite && there && readdirSync(folder).length > 0) throw new OptionError('output_dir', outputDir, { allowed: 'an empty or new folder, or --overwrite_output_dir' })
}

function readWeights(folder: string): Uint8Array {
  const single = join(folder, 'model.safetensors')
  if (existsSync(single)) return readFileSync(single)
  const index = parseShardIndex(readObject(folder, INDEX_FILE))
  return joinShards(index, new Map(index.files.map((name) => [name, readFileSync(join(folder, name))])))
}
