import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ADAPTER_CONFIG_FILE, ADAPTER_FILE, type AdapterConfig, adapterOptions, parseAdapterConfig } from '../checkpoint/adapter-config.ts'
import { type AdapterModule, readAdapter } from '../checkpoint/adapter-weights.ts'
import { OptionError } from '../protocol/options.ts'
import { modelStart } from './model-start.ts'
import { adapterFiles, type RawOptions, readObject, type RunStart } from './run-start.ts'
import { statPath } from './stat-path.ts'

export interface AdapterFolder {
  readonly config: AdapterConfig
  readonly modules: readonly AdapterModule[]
}

/** Reads a folder of PEFT's. @throws OptionError when it is none, and a sentence for an adapter that is not computed here. */
export function readAdapterFolder(path: string): AdapterFolder {
  if (path === '' || !statPath(path)?.isDirectory()) throw new OptionError('adapter', path, { allowed: 'the folder of a LoRA adapter' })
  const missing = [ADAPTER_CONFIG_FILE, ADAPTER_FILE].find((name) => !existsSync(join(path, name)))
  if (missing !== undefined) throw new OptionError('adapter', path, { allowed: `a folder with ${missing}` })
  const config = parseAdapterConfig(readObject(path, ADAPTER_CONFIG_FILE))
  return { config, modules: readAdapter(readFileSync(join(path, ADAPTER_FILE)), config) }
}

/** The model that is given, or else the one that the adapter names. @throws OptionError when there is neither. */
export function modelUnder({ config }: AdapterFolder, given: string | null | undefined): string {
  const path = given ?? config.baseModel
  if (path === null) throw new OptionError('model', path, { allowed: 'the folder of the model that is adapted; the adapter does not name one' })
  return path
}

/** May differ from what the adapter was trained with. */
const FREE = 'lora_dropout'

/**
 * A run from a model and an adapter of it, which is trained further or measured.
 * @throws OptionError as `modelStart`, and when a given option contradicts the adapter.
 */
export function adapterStart({ model, adapter: path }: { readonly model: string | undefined; readonly adapter: string }, raw: RawOptions): RunStart {
  const adapter = readAdapterFolder(path)
  const names = adapter.modules.map(({ name }) => name)
  const own = adapterOptions(adapter.config, names)
  for (const [name, value] of Object.entries(own)) {
    if (name !== FREE && raw[name] !== undefined && String(raw[name]) !== String(value))
      throw new OptionError(name, raw[name], { allowed: `${String(value)}, as in ${ADAPTER_CONFIG_FILE} of ${path}` })
  }
  const start = modelStart(modelUnder(adapter, model), { ...own, ...raw })
  return { ...start, files: [...start.files, ...adapterFiles(resolve(path))] }
}
