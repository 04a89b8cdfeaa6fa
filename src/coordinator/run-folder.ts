import { generationConfigJson } from '../checkpoint/model-config.ts'
import type { ModelParts } from '../checkpoint/hf-folder.ts'
import { modelCard } from '../checkpoint/model-card.ts'
import { trainerStateJson } from '../checkpoint/trainer-state.ts'
import type { TextSource } from './session-view.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { PastRun } from './run-history.ts'

/** What a folder of this run's model holds besides the weights. */
export function runFolder(prepared: PreparedRun, source: TextSource, { records, evaluations }: PastRun, finished: boolean): Omit<ModelParts, 'weights'> {
  const { options, settings, tokenizer, parameters } = prepared
  return {
    config: settings.config,
    generationConfig: generationConfigJson(options),
    tokenizerFiles: tokenizer.files(options.block_size),
    trainerState: trainerStateJson({ options, maxSteps: settings.totalUpdates, records, evaluations, finished }),
    trainingArgs: options,
    modelCard: modelCard({
      modelType: String(settings.config['model_type']),
      options,
      startedFrom: settings.initial.from,
      source,
      vocabSize: tokenizer.vocabSize,
      parameters,
      records,
      evaluations,
    }),
  }
}
