import { modelConfigJson, parameterCount } from '../checkpoint/model-config.ts'
import { joinAdapter } from '../checkpoint/adapter-weights.ts'
import type { RunState } from '../checkpoint/run-state.ts'
import { countWeights } from '../checkpoint/weights.ts'
import { buildCorpus, type RunData } from '../data/build-corpus.ts'
import { promptIds } from '../data/build-tokenizer.ts'
import type { Corpus } from '../data/corpus.ts'
import { evaluationInterval, globalBatchSize, totalUpdates, updatesPerEpoch } from '../data/sample-order.ts'
import type { Tokenizer } from '../data/tokenizer.ts'
import { tokenizerFromFiles } from '../data/tokenizer-from-files.ts'
import { parseShares } from '../protocol/option-checks.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import type { InitialState } from '../protocol/room-messages.ts'
import type { PastRun } from './run-history.ts'
import type { RunSettings, SaveSettings } from './run-ports.ts'
import type { StartFolder } from './start-folder.ts'

/** All that a run needs before ranks are told of it. */
export interface PreparedRun {
  readonly settings: RunSettings
  readonly tokenizer: Tokenizer
  readonly corpus: Uint8Array<ArrayBuffer>
  readonly options: TrainingOptions
  readonly parameters: number
  /** Sentences on the data, for people. */
  readonly notes: readonly string[]
  readonly start: StartFolder | null
  /** What ranks start from, adapters included; null for random weights. */
  readonly weights: Uint8Array<ArrayBuffer> | null
  /** What was done before the run was resumed. */
  readonly past: PastRun | null
}

/** One character in so many may be unknown to the tokenizer of a model that training starts from. */
const MOST_UNKNOWN = 10

export interface RunSource {
  /** Null for random weights. */
  readonly start?: StartFolder | null
  /** Whether there is somewhere to keep checkpoints. */
  readonly keeps?: boolean
  /** No update: the model is measured on all of the data. */
  readonly evaluatesOnly?: boolean
}

/**
 * Tokenises the data and lays out the run for `ranks` ranks; the global batch is fixed here.
 * @throws a sentence when the data is too short, does not read, or does not belong to the checkpoint that the run starts from.
 */
export async function prepareRun(
  data: RunData,
  chosen: TrainingOptions,
  ranks: number,
  { start = null, keeps = false, evaluatesOnly = false }: RunSource = {},
): Promise<PreparedRun> {
  if (chosen.use_peft && !start) throw new Error('Cannot train an adapter: there is no model under it, need one to start from (--model)')
  const { corpus, tokenizer, notes } = await buildCorpus(evaluatesOnly ? { train: data.train, validation: data.train } : data, {
    options: chosen,
    tokenizer: start?.tokenizerFiles ? tokenizerFromFiles(chosen.tokenizer, start.tokenizerFiles) : null,
    model: start && modelLimits(start.config),
    evaluates: chosen.eval_strategy !== 'no' || chosen.eval_on_start,
  })
  if (start) checkVocabulary(tokenizer.vocabSize, start.config['vocab_size'])
  if (start && tokenizer.kind === 'char') checkKnown(corpus, tokenizer.vocabSize - 1)
  const batch = globalBatchSize(chosen, ranks)
  const options = { ...chosen, global_batch_size: batch }
  const perEpoch = updatesPerEpoch(corpus.numTrainSamples, batch)
  const config = start?.config ?? modelConfigJson(options, tokenizer.vocabSize)
  const settings: RunSettings = {
    id: crypto.randomUUID(),
    options,
    config,
    corpus: await corpus.facts(),
    initial: initialState(start),
    planner: {
      seed: options.seed,
      numSamples: corpus.numTrainSamples,
      globalBatchSize: batch,
      perDeviceBatchSize: options.per_device_train_batch_size,
      corpus,
      strategy: options.train_sampling_strategy,
      hashEvery: options.hash_every,
      shares: parseShares(options.micro_batch_shares) ?? [],
    },
    totalUpdates: evaluatesOnly ? 0 : totalUpdates(options, perEpoch),
    evaluatesFirst: evaluatesOnly || options.eval_on_start,
    evalEvery: evaluationInterval(options, perEpoch),
    evalSamples: spread(corpus.numTrainSamples, corpus.numValidationSamples, options.max_eval_samples),
    waitsForEvaluations: options.early_stopping_patience !== null,
    sampleEvery: evaluatesOnly ? 0 : options.sample_every,
    save: keeps && !evaluatesOnly ? saving(options, perEpoch) : { strategy: 'no', every: 1 },
    generate: {
      prompt: promptIds(tokenizer, options),
      tokens: options.sample_tokens,
      temperature: options.sample_temperature,
      topK: options.sample_top_k,
      topP: options.sample_top_p,
    },
  }
  const parameters = start ? countWeights(start.model, start.config) : parameterCount(options, tokenizer.vocabSize)
  const past = start?.resumed?.state ?? null
  if (past) checkResumed(past, settings)
  return { settings, tokenizer, corpus: corpus.toBytes(), options, parameters, notes, start, weights: start && weightsOf(start), past }
}

function weightsOf({ model, adapter }: StartFolder): Uint8Array<ArrayBuffer> {
  return adapter ? joinAdapter(model, adapter.modules) : model
}

function modelLimits(config: StartFolder['config']): { readonly vocabSize: number; readonly positions: number } {
  const positions = config['n_positions'] ?? config['max_position_embeddings']
  return { vocabSize: Number(config['vocab_size']), positions: Number(positions) }
}

function checkVocabulary(tokens: number, rows: unknown): void {
  if (typeof rows === 'number' && tokens > rows) throw new Error(`Cannot use this tokenizer with the model: it has ${tokens} tokens, need at most the ${rows} of vocab_size`)
}

/** Characters that a given tokenizer lacks are all one token: a few do no harm, a text of them is another alphabet. */
function checkKnown(corpus: Corpus, unknown: number): void {
  let count = 0
  let tokens = 0
  for (let sample = 0; sample < corpus.numTrainSamples + corpus.numValidationSamples; sample++) {
    const { ids } = corpus.row(sample)
    tokens += ids.length
    for (let at = 0; at < ids.length; at++) if (ids[at] === unknown) count++
  }
  if (count * MOST_UNKNOWN > tokens) {
    throw new Error(`Cannot train on this text: ${count} of its ${tokens} characters are not in the model's tokenizer, need at most 1 in ${MOST_UNKNOWN}`)
  }
}

function initialState(start: StartFolder | null): InitialState {
  if (!start) return { from: 'seed' }
  if (!start.resumed) return { from: 'weights' }
  const { committed, update } = start.resumed.state
  return { from: 'checkpoint', committed, update }
}

function saving({ save_strategy: strategy, save_steps }: TrainingOptions, perEpoch: number): SaveSettings {
  return { strategy, every: strategy === 'epoch' ? perEpoch : save_steps }
}

function checkResumed({ corpus_sha256, update }: RunState, settings: RunSettings): void {
  if (corpus_sha256 !== settings.corpus.sha256) {
    throw new Error(`Cannot resume: the data gives tokens with SHA-256 ${settings.corpus.sha256}, the checkpoint was trained on ${corpus_sha256}, need the same data`)
  }
  if (update >= settings.totalUpdates) throw new Error(`Cannot resume: the checkpoint has ${update} updates done, need more in the run, which has ${settings.totalUpdates}`)
}

/** At most `most` of the `count` samples from `first` on, evenly spread. */
function spread(first: number, count: number, most: number | null): number[] {
  const take = Math.min(count, most ?? count)
  return Array.from({ length: take }, (_, index) => first + Math.floor((index * count) / take))
}
