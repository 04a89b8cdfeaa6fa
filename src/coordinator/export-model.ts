import { type FolderFile, jsonFile } from '../checkpoint/hf-folder.ts'
import { mergeAdapter } from '../checkpoint/merge-adapter.ts'
import { generationConfigJson } from '../checkpoint/model-config.ts'
import { zipFiles } from '../checkpoint/zip.ts'
import { adapterModules } from '../checkpoint/adapter-weights.ts'
import type { ActiveRun } from './active-run.ts'
import { runFolder } from './run-folder.ts'

/** A model of more bytes is not merged with its adapter unasked: `tabring merge` does that. */
const MAX_MERGED_BYTES = 256 * 1024 * 1024

export interface ExportOptions {
  /** Whether the model with an adapter added to it goes along, as a folder `merged`, unless it is large. */
  readonly merged: boolean
}

/** The run's model as a Hugging Face folder, or its adapter as PEFT's, in a zip named after output_dir. `weights` is a safetensors file. */
export function exportZip(run: ActiveRun, weights: Uint8Array<ArrayBuffer>, { merged }: ExportOptions): { readonly name: string; readonly blob: Blob } {
  const { options } = run.prepared
  const records = run.records.value
  const evaluations = run.evaluations.value
  const files = runFolder(run.prepared, run.source, { records, evaluations }, { finished: run.finished, weights })
  if (merged && options.use_peft) files.push(...mergedFiles(run, weights))
  const folder =
    options.output_dir
      .split(/[\\/]/)
      .filter(Boolean)
      .at(-1)
      ?.replace(/[^\w.-]/g, '_') ?? 'model'
  return { name: `${folder}.zip`, blob: new Blob([zipFiles(files, folder)], { type: 'application/zip' }) }
}

function mergedFiles({ prepared }: ActiveRun, adapters: Uint8Array): FolderFile[] {
  const { start, options, tokenizer } = prepared
  if (!start || start.model.byteLength > MAX_MERGED_BYTES) return []
  const config = { rank: options.lora_r, alpha: options.lora_alpha, rankStabilised: options.use_rslora }
  const files = [
    jsonFile('config.json', start.config),
    jsonFile('generation_config.json', generationConfigJson(options)),
    { name: 'model.safetensors', bytes: mergeAdapter(start.model, adapterModules(adapters), { config, model: start.config }) },
    ...Object.entries(tokenizer.files(options.block_size) ?? {}).map(([name, json]) => jsonFile(name, json)),
  ]
  return files.map(({ name, bytes }) => ({ name: `merged/${name}`, bytes }))
}
