import { adapterConfigJson } from '../checkpoint/adapter-config.ts'
import { writeAdapter } from '../checkpoint/adapter-weights.ts'
import { type FolderFile, adapterFolder, modelFolder } from '../checkpoint/hf-folder.ts'
import { generationConfigJson } from '../checkpoint/model-config.ts'
import { modelCard } from '../checkpoint/model-card.ts'
import { trainerStateJson } from '../checkpoint/trainer-state.ts'
import type { TextSource } from './session-view.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { PastRun } from './run-history.ts'

export interface RunFolderOptions {
  readonly finished: boolean
  /** A rank's safetensors file: the model's weights, or those of its adapters. */
  readonly weights: Uint8Array
}

/** The files of this run's model, or of its adapter. */
export function runFolder(prepared: PreparedRun, source: TextSource, { records, evaluations }: PastRun, { finished, weights }: RunFolderOptions): FolderFile[] {
  const { options, settings, tokenizer, parameters, start } = prepared
  const modelType = String(settings.config['model_type'])
  const baseModel = start?.name ?? start?.adapter?.config.baseModel ?? null
  const parts = {
    tokenizerFiles: tokenizer.files(options.block_size),
    trainerState: trainerStateJson({ options, maxSteps: settings.totalUpdates, records, evaluations, finished }),
    trainingArgs: options,
    modelCard: modelCard({
      modelType,
      adapter: options.use_peft ? { baseModel } : null,
      options,
      startedFrom: settings.initial.from,
      source,
      vocabSize: tokenizer.vocabSize,
      parameters,
      records,
      evaluations,
    }),
  }
  if (!options.use_peft) return modelFolder({ ...parts, config: settings.config, generationConfig: generationConfigJson(options), weights })
  const { file, modules } = writeAdapter(weights)
  return adapterFolder({ ...parts, adapterConfig: adapterConfigJson({ options, modules, baseModel, modelType }), weights: file })
}
