import { zipFiles } from '../checkpoint/zip.ts'
import type { ActiveRun } from './active-run.ts'
import { runFolder } from './run-folder.ts'

/** The run's model as a Hugging Face folder, or its adapter as PEFT's, in a zip named after output_dir. `weights` is a safetensors file. */
export function exportZip(run: ActiveRun, weights: Uint8Array<ArrayBuffer>): { readonly name: string; readonly blob: Blob } {
  const { options } = run.prepared
  const records = run.records.value
  const evaluations = run.evaluations.value
  const files = runFolder(run.prepared, run.source, { records, evaluations }, { finished: run.finished, weights })
  const folder =
    options.output_dir
      .split(/[\\/]/)
      .filter(Boolean)
      .at(-1)
      ?.replace(/[^\w.-]/g, '_') ?? 'model'
  return { name: `${folder}.zip`, blob: new Blob([zipFiles(files, folder)], { type: 'application/zip' }) }
}
