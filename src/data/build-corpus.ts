import type { TrainingOptions } from '../protocol/options.ts'
import { buildBlocks, buildBlocksOfTwo } from './block-corpus.ts'
import { buildTokenizer } from './build-tokenizer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import type { Corpus, CorpusRow } from './corpus.ts'
import type { DataFile } from './data-file.ts'
import { idsTokenizer } from './ids-tokenizer.ts'
import { packRows } from './pack-rows.ts'
import { RowCorpus } from './row-corpus.ts'
import { type SampleSource, sampleSources } from './sample-source.ts'
import { type TokenRows, textsOf, tokenRows } from './token-rows.ts'
import type { Tokenizer } from './tokenizer.ts'

/** What a run trains on, and what it is measured by; without a file for that, part of the first is held out. */
export interface RunData {
  readonly train: DataFile
  readonly validation: DataFile | null
}

export interface BuildOptions {
  readonly options: TrainingOptions
  /** That of the model; null to make one from the data. */
  readonly tokenizer: Tokenizer | null
  /** Of the model that is trained on; null for a new one. */
  readonly model: { readonly vocabSize: number; readonly positions: number } | null
  /** Whether rows are held out to be evaluated on. */
  readonly evaluates: boolean
}

export interface BuiltCorpus {
  readonly corpus: Corpus
  readonly tokenizer: Tokenizer
  /** Sentences on what was cut. */
  readonly notes: readonly string[]
}

/** A text as data. */
export function plainText(text: string): RunData {
  return { train: { kind: 'text', name: 'text', text }, validation: null }
}

/** Tokenises a run's data. @throws a sentence when it is too short, does not read, or does not fit the model. */
export async function buildCorpus({ train, validation }: RunData, build: BuildOptions): Promise<BuiltCorpus> {
  if (train.kind === 'text') {
    const { options } = build
    const tokenizer = build.tokenizer ?? (await buildTokenizer(options, train.text))
    if (validation && validation.kind !== 'text') throw new Error(`Cannot evaluate on the rows of ${validation.name}: the training data is a text, need a text`)
    const corpus = validation
      ? buildBlocksOfTwo(train.text, validation.text, tokenizer, options.block_size)
      : buildBlocks(train.text, tokenizer, { blockSize: options.block_size, validationFraction: options.validation_split_percentage / 100 })
    return { corpus, tokenizer, notes: [] }
  }
  const sources = sampleSources(train, build.options.dataset_text_field)
  if (validation?.kind === 'text') throw new Error(`Cannot evaluate on the text ${validation.name}: the training data has rows, need rows`)
  const measured = validation && sampleSources(validation, build.options.dataset_text_field)
  return buildRows(sources, measured, build)
}

async function buildRows(
  sources: readonly SampleSource[],
  measured: readonly SampleSource[] | null,
  { options, tokenizer: given, model, evaluates }: BuildOptions,
): Promise<BuiltCorpus> {
  const tokenizer = given ?? (await rowTokenizer([...sources, ...(measured ?? [])], options, model))
  const positions = model?.positions ?? options.block_size
  const limits = {
    blockSize: Math.min(options.block_size, positions),
    positions,
    vocabSize: model?.vocabSize ?? tokenizer.vocabSize,
    completionOnly: options.completion_only_loss,
  }
  const held = measured === null && evaluates ? heldOut(sources.length, options.validation_split_percentage) : 0
  const train = await tokenRows(sources.slice(0, sources.length - held), tokenizer, limits)
  const behind = measured ?? sources.slice(sources.length - held)
  const validation = behind.length > 0 ? await tokenRows(behind, tokenizer, limits) : null
  const packed = (rows: readonly CorpusRow[]) => (options.packing ? packRows(rows, limits.blockSize) : rows)
  const corpus = new RowCorpus(packed(train.rows), packed(validation?.rows ?? []))
  return { corpus, tokenizer, notes: [...notesOn('training', train, limits.blockSize), ...(validation ? notesOn('validation', validation, limits.blockSize) : [])] }
}

/** Rows of ids need no tokenizer; a new one learns from the rows' texts. */
async function rowTokenizer(sources: readonly SampleSource[], options: TrainingOptions, model: BuildOptions['model']): Promise<Tokenizer> {
  if (sources.every(({ kind }) => kind === 'ids')) return idsTokenizer(model?.vocabSize ?? highestId(sources) + 1)
  if (options.tokenizer === 'byte') return byteTokenizer()
  // A conversation's template needs no tokens of its own here: the new tokenizer learns its words as text.
  return buildTokenizer(options, (await textsOf(sources, byteTokenizer())).join('\n'))
}

function highestId(sources: readonly SampleSource[]): number {
  let highest = 0
  for (const source of sources) if (source.kind === 'ids') for (const id of [...source.ids, ...(source.labels ?? [])]) highest = Math.max(highest, id)
  return highest
}

function heldOut(rows: number, percentage: number): number {
  if (rows < 2) throw new Error(`Cannot hold out rows for validation: there is ${rows}, need at least 2, a validation file, or eval_strategy no`)
  return Math.max(1, Math.floor((rows * percentage) / 100))
}

function notesOn(what: string, { rows, truncated, lostTokens, empty }: TokenRows, blockSize: number): string[] {
  const count = (some: number): string => `${some} of ${rows.length} ${what} rows`
  return [
    ...(truncated > 0 ? [`${count(truncated)} are longer than ${blockSize} tokens and were cut there: ${lostTokens} tokens are lost`] : []),
    ...(empty > 0 ? [`${count(empty)} have nothing to predict${truncated > 0 ? ' within the block size' : ''}`] : []),
  ]
}
