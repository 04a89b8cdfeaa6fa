import { gpt2ConfigJson, gpt2ParameterCount } from '../checkpoint/gpt2-config.ts'
import { buildTokenizer, promptIds } from '../data/build-tokenizer.ts'
import { buildCorpus, corpusBytes, corpusFacts } from '../data/corpus.ts'
import { evaluationInterval, globalBatchSize, totalUpdates, updatesPerEpoch } from '../data/sample-order.ts'
import type { Tokenizer } from '../data/tokenizer.ts'
import { parseShares } from '../protocol/option-checks.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import type { RunSettings } from './run-ports.ts'

/** All that a run needs before ranks are told of it. */
export interface PreparedRun {
  readonly settings: RunSettings
  readonly tokenizer: Tokenizer
  readonly corpus: Uint8Array<ArrayBuffer>
  readonly options: TrainingOptions
  readonly parameters: number
  /** Prediction targets in one sample. */
  readonly itemsPerSample: number
}

/**
 * Tokenises the text and lays out the run for `ranks` ranks; the global batch is fixed here.
 * @throws a sentence when the text is too short.
 */
export async function prepareRun(text: string, chosen: TrainingOptions, ranks: number): Promise<PreparedRun> {
  const tokenizer = await buildTokenizer(chosen, text)
  const corpus = buildCorpus(text, tokenizer, { blockSize: chosen.block_size, validationFraction: chosen.validation_split_percentage / 100 })
  const batch = globalBatchSize(chosen, ranks)
  const options = { ...chosen, global_batch_size: batch }
  const perEpoch = updatesPerEpoch(corpus.numTrainSamples, batch)
  const config = gpt2ConfigJson(options, tokenizer.vocabSize)
  const itemsPerSample = options.block_size - 1
  const settings: RunSettings = {
    id: crypto.randomUUID(),
    options,
    config,
    corpus: await corpusFacts(corpus),
    planner: {
      seed: options.seed,
      numSamples: corpus.numTrainSamples,
      globalBatchSize: batch,
      perDeviceBatchSize: options.per_device_train_batch_size,
      itemsPerSample,
      strategy: options.train_sampling_strategy,
      hashEvery: options.hash_every,
      shares: parseShares(options.micro_batch_shares) ?? [],
    },
    totalUpdates: totalUpdates(options, perEpoch),
    evalEvery: evaluationInterval(options, perEpoch),
    evalSamples: spread(corpus.numTrainSamples, corpus.numValidationSamples, options.max_eval_samples),
    sampleEvery: options.sample_every,
    generate: { prompt: promptIds(tokenizer, options), tokens: options.sample_tokens, temperature: options.sample_temperature, topK: options.sample_top_k },
  }
  return { settings, tokenizer, corpus: corpusBytes(corpus), options, parameters: gpt2ParameterCount(options, tokenizer.vocabSize), itemsPerSample }
}

/** At most `most` of the `count` samples from `first` on, evenly spread. */
function spread(first: number, count: number, most: number | null): number[] {
  const take = Math.min(count, most ?? count)
  return Array.from({ length: take }, (_, index) => first + Math.floor((index * count) / take))
}
