import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ADAPTER_CONFIG_FILE, ADAPTER_FILE, parseAdapterConfig } from '../checkpoint/adapter-config.ts'
import { INDEX_FILE, parseShardIndex } from '../checkpoint/shards.ts'
import { RUN_STATE_FILE, type RunState, parseRunState } from '../checkpoint/run-state.ts'
import { OptionError, type TrainingOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { resumedOptions } from '../protocol/resume-options.ts'
import { newestCheckpoint } from './checkpoint-folders.ts'
import { statPath } from './stat-path.ts'

/** A folder that a run starts from, and the options that it then has. */
export interface RunStart {
  readonly kind: 'weights' | 'checkpoint'
  readonly folder: string
  /** Paths of the files that the page reads. */
  readonly files: readonly string[]
  readonly options: TrainingOptions
  /** Of a checkpoint. */
  readonly state: RunState | null
  /** What the model is called that is trained or adapted: a path as it was given. */
  readonly baseModel: string | null
}

export type RawOptions = Readonly<Record<string, unknown>>

const RUN_FILES = ['optimizer.safetensors', RUN_STATE_FILE, 'training_args.json'] as const
const MODEL_FILES = ['config.json', 'model.safetensors'] as const
const ADAPTER_FILES = [ADAPTER_CONFIG_FILE, ADAPTER_FILE] as const
const PAGE_FILES = [...MODEL_FILES, 'tokenizer.json', 'tokenizer_config.json', 'optimizer.safetensors', RUN_STATE_FILE] as const

export interface ResumeOptions {
  /** The model that a checkpoint adapts, where it is not what the checkpoint says. */
  readonly model?: string | undefined
}

/**
 * Reads a checkpoint: `from` is its folder, or `true` for the newest one in output_dir. Options that are not given are the checkpoint's.
 * @throws OptionError when there is no whole checkpoint, or a given option contradicts it.
 */
export function resumeFrom(from: string, raw: RawOptions, { model }: ResumeOptions = {}): RunStart {
  const folder = from === 'true' ? newestIn(resolve(outputDir(raw))) : resolve(from)
  const adapts = existsSync(join(folder, ADAPTER_CONFIG_FILE))
  if (model !== undefined && !adapts) throw new OptionError('model', model, { allowed: 'none, because a checkpoint brings its model' })
  checkFiles(from, folder, adapts ? ADAPTER_FILES : MODEL_FILES)
  const baseModel = adapts ? adaptedModel(folder, model) : null
  const state = stateOf(folder)
  const saved = { ...readObject(folder, 'training_args.json'), output_dir: dirname(folder) }
  const options = resumedOptions({ name: basename(folder), options: saved, update: state.update }, raw)
  // Names that both have are the checkpoint's: the later ones count.
  const files = [...(baseModel === null ? [] : pageFiles(resolve(baseModel))), ...pageFiles(folder), ...(adapts ? adapterFiles(folder) : [])]
  return { kind: 'checkpoint', folder, files, options, state, baseModel }
}

/** What of a folder the page reads, as far as it is there. */
export function pageFiles(folder: string): string[] {
  const sharded = !existsSync(join(folder, 'model.safetensors')) && existsSync(join(folder, INDEX_FILE))
  const shards = sharded ? [INDEX_FILE, ...parseShardIndex(readObject(folder, INDEX_FILE)).files] : []
  return [...PAGE_FILES, ...shards].map((name) => join(folder, name)).filter((path) => existsSync(path))
}

export function adapterFiles(folder: string): string[] {
  return ADAPTER_FILES.map((name) => join(folder, name))
}

function outputDir(raw: RawOptions): string {
  return resolveOptions(raw).output_dir
}

function newestIn(folder: string): string {
  const newest = newestCheckpoint(folder)
  if (newest === null) throw new OptionError('resume_from_checkpoint', true, { allowed: `a folder checkpoint-N in output_dir, which is ${folder}` })
  return newest
}

/** The path of the model under an adapter. */
function adaptedModel(folder: string, given: string | undefined): string {
  const { baseModel } = parseAdapterConfig(readObject(folder, ADAPTER_CONFIG_FILE))
  const path = given ?? baseModel
  if (path !== null && existsSync(join(path, 'config.json'))) return path
  const allowed = 'the folder of the model that the checkpoint adapts'
  throw new OptionError('model', path, { allowed: given === undefined && baseModel !== null ? `${allowed}; ${baseModel}, which it names, is not there` : allowed })
}

function checkFiles(from: string, folder: string, needed: readonly string[]): void {
  if (from === '' || !statPath(folder)?.isDirectory()) throw new OptionError('resume_from_checkpoint', from, { allowed: 'the folder of a checkpoint, or true' })
  const missing = [...needed, ...RUN_FILES].find((name) => !existsSync(join(folder, name)))
  if (missing !== undefined) throw new OptionError('resume_from_checkpoint', from, { allowed: `a checkpoint of Tabring; ${missing} is missing in ${folder}` })
}

function stateOf(folder: string): RunState {
  return parseRunState(readObject(folder, RUN_STATE_FILE))
}

/** @throws with the path when the file does not hold one JSON object. */
export function readObject(folder: string, name: string): Readonly<Record<string, unknown>> {
  const path = join(folder, name)
  const json = parsed(path)
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error(`Cannot read ${path}: it is no JSON object, need one`)
  return { ...json }
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new Error(`Cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}, need JSON`, { cause })
  }
}
