import { generationConfigJson } from '../checkpoint/gpt2-config.ts'
import { modelFolder } from '../checkpoint/hf-folder.ts'
import { modelCard } from '../checkpoint/model-card.ts'
import { trainerStateJson } from '../checkpoint/trainer-state.ts'
import { zipFiles } from '../checkpoint/zip.ts'
import type { ActiveRun } from './active-run.ts'

/** The run's model as a Hugging Face folder in a zip named after output_dir. `weights` is a safetensors file. */
export function exportZip(run: ActiveRun, weights: Uint8Array<ArrayBuffer>): { readonly name: string; readonly blob: Blob } {
  const { options, settings, tokenizer, parameters, itemsPerSample } = run.prepared
  const records = run.records.value
  const evaluations = run.evaluations.value
  const files = modelFolder({
    config: settings.config,
    generationConfig: generationConfigJson(options),
    weights,
    tokenizerFiles: tokenizer.files(options.block_size),
    trainerState: trainerStateJson({ options, maxSteps: settings.totalUpdates, records, evaluations, itemsPerSample, finished: run.finished }),
    trainingArgs: options,
    modelCard: modelCard({ options, source: run.source, vocabSize: tokenizer.vocabSize, parameters, records, evaluations }),
  })
  const folder =
    options.output_dir
      .split(/[\\/]/)
      .filter(Boolean)
      .at(-1)
      ?.replace(/[^\w.-]/g, '_') ?? 'model'
  return { name: `${folder}.zip`, blob: new Blob([zipFiles(files, folder)], { type: 'application/zip' }) }
}
