import { IGNORED_LABEL } from './batch.ts'
import { chatRenderer, type RenderChat, tokenText } from './chat-template.ts'
import type { CorpusRow } from './corpus.ts'
import type { SampleSource } from './sample-source.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface RowOptions {
  /** Longest row in tokens. */
  readonly blockSize: number
  /** Positions of the model. */
  readonly positions: number
  /** Ids are below it. */
  readonly vocabSize: number
  /** Whether prompts and other people's messages have no labels. */
  readonly completionOnly: boolean
}

export interface TokenRows {
  readonly rows: CorpusRow[]
  /** Rows that were longer than a block, and the tokens that they lost. */
  readonly truncated: number
  readonly lostTokens: number
  /** Rows without anything to predict. */
  readonly empty: number
}

interface Labelled {
  readonly ids: number[]
  readonly labels: number[]
}

/**
 * Tokenises rows. Parts are tokenised apart, as they are when a model is asked: a prompt's tokens do not depend on its answer.
 * @throws a sentence with the line of a row that does not fit the model or its template.
 */
export async function tokenRows(sources: readonly SampleSource[], tokenizer: Tokenizer, options: RowOptions): Promise<TokenRows> {
  const render = sources.some(({ kind }) => kind === 'chat') ? await chatRenderer(tokenizer) : null
  const end = endOfText(tokenizer)
  const counts = { truncated: 0, lostTokens: 0, empty: 0 }
  const rows = sources.map((source) => {
    const row = labelled(source, { tokenizer, render, end, completionOnly: options.completionOnly })
    check(source, row, options)
    const lost = Math.max(0, row.ids.length - options.blockSize)
    if (lost > 0) counts.truncated++
    counts.lostTokens += lost
    const labels = row.labels.slice(0, options.blockSize)
    if (labels.slice(1).every((label) => label === IGNORED_LABEL)) counts.empty++
    return { ids: row.ids.slice(0, options.blockSize), labels, starts: null }
  })
  if (counts.empty === rows.length) throw new Error('Cannot use these rows: none of them has a token to predict within block_size, need longer rows or a larger block_size')
  return { rows, ...counts }
}

/** What a tokenizer may learn from, in order; empty where rows are token ids. */
export async function textsOf(sources: readonly SampleSource[], tokenizer: Tokenizer): Promise<string[]> {
  const render = sources.some(({ kind }) => kind === 'chat') ? await chatRenderer(tokenizer) : null
  return sources.flatMap((source) => {
    switch (source.kind) {
      case 'ids':
        return []
      case 'text':
        return [source.text]
      case 'completion':
        return [source.prompt + source.completion]
      case 'chat':
        return [(render?.(source.messages, 0) ?? []).map(({ text }) => text).join('')]
      default:
        return source satisfies never
    }
  })
}

interface Labelling {
  readonly tokenizer: Tokenizer
  readonly render: RenderChat | null
  readonly end: readonly number[]
  readonly completionOnly: boolean
}

function labelled(source: SampleSource, { tokenizer, render, end, completionOnly }: Labelling): Labelled {
  const plain = (text: string): number[] => Array.from(tokenizer.encode(text))
  const part = (ids: readonly number[], learned: boolean): Labelled => ({ ids: [...ids], labels: ids.map((id) => (learned || !completionOnly ? id : IGNORED_LABEL)) })
  switch (source.kind) {
    case 'ids':
      return { ids: [...source.ids], labels: [...(source.labels ?? source.ids)] }
    case 'text':
      return part([...tokenizer.prefix, ...plain(source.text), ...end], true)
    case 'completion':
      return joined([part([...tokenizer.prefix, ...plain(source.prompt)], false), part([...plain(source.completion), ...end], true)])
    case 'chat':
      return joined(chatPieces(source, render).map(({ text, answer }) => part(plain(text), answer)))
    default:
      return source satisfies never
  }
}

function chatPieces({ line, messages, answersFrom }: Extract<SampleSource, { kind: 'chat' }>, render: RenderChat | null): ReturnType<RenderChat> {
  try {
    return render?.(messages, answersFrom) ?? []
  } catch (cause) {
    throw new Error(`Cannot use line ${line}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

function joined(parts: readonly Labelled[]): Labelled {
  return { ids: parts.flatMap(({ ids }) => ids), labels: parts.flatMap(({ labels }) => labels) }
}

/** Ids that were given are exact: nobody wants them cut to fit the model. Texts are cut, and counted. */
function check({ line, kind }: SampleSource, { ids, labels }: Labelled, { positions, vocabSize }: RowOptions): void {
  if (kind === 'ids' && ids.length > positions) throw new Error(`Cannot use line ${line}: it has ${ids.length} tokens, need at most the ${positions} positions of the model`)
  const wrong = [...ids, ...labels].find((id) => id >= vocabSize)
  if (wrong !== undefined) throw new Error(`Cannot use line ${line}: it has token ${wrong}, need ids below ${vocabSize}, the size of the vocabulary`)
}

/** The token that ends a text, where the tokenizer has one. */
function endOfText(tokenizer: Tokenizer): readonly number[] {
  const text = tokenText(tokenizer.files(0)?.['tokenizer_config.json']['eos_token'])
  const ids = text === null ? [] : Array.from(tokenizer.encode(text))
  return ids.length === 1 ? ids : []
}
