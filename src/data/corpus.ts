import { sha256 } from '../base/sha256.ts'
import type { CorpusFacts } from '../protocol/room-messages.ts'
import type { Tokenizer } from './tokenizer.ts'

/** Tokens of whole blocks: training samples first, validation samples behind them. Sample i is [i * blockSize, (i + 1) * blockSize). */
export interface Corpus {
  readonly tokens: Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>
  readonly blockSize: number
  readonly numTrainSamples: number
  /** Their indices start at numTrainSamples. */
  readonly numValidationSamples: number
}

export interface CorpusShape {
  readonly blockSize: number
  /** Share of the tokens, at the end, that is held out. */
  readonly validationFraction: number
}

/**
 * Cuts a text into blocks, as run_clm.py's group_texts: what is left at the end of each split is dropped.
 * @throws when a split has no whole block.
 */
export function buildCorpus(text: string, tokenizer: Pick<Tokenizer, 'encode' | 'vocabSize'>, shape: CorpusShape): Corpus {
  const { blockSize, validationFraction } = shape
  const all = tokenizer.encode(text)
  const held = Math.floor(all.length * validationFraction)
  const numTrainSamples = Math.floor((all.length - held) / blockSize)
  const numValidationSamples = Math.floor(held / blockSize)
  if (numTrainSamples < 1) throw tooShort('train on this text', all.length - held, all.length, blockSize)
  if (numValidationSamples < 1) throw tooShort(`hold out ${percent(validationFraction)} of this text for validation`, held, all.length, blockSize)
  const size = (numTrainSamples + numValidationSamples) * blockSize
  const tokens = tokenizer.vocabSize <= 65_536 ? new Uint16Array(size) : new Uint32Array(size)
  tokens.set(all.subarray(0, numTrainSamples * blockSize))
  tokens.set(all.subarray(all.length - held, all.length - held + numValidationSamples * blockSize), numTrainSamples * blockSize)
  return { tokens, blockSize, numTrainSamples, numValidationSamples }
}

function tooShort(what: string, tokens: number, all: number, blockSize: number): Error {
  return new Error(`Cannot ${what}: that is ${tokens} of ${all} tokens, need at least one block of ${blockSize}. Use a longer text or a smaller block_size`)
}

function percent(fraction: number): string {
  return `${Number((fraction * 100).toPrecision(4))} %`
}

/** The tokens as they cross the wire: little-endian, of `facts.bytesPerToken` each. */
export function corpusBytes(corpus: Corpus): Uint8Array<ArrayBuffer> {
  const { tokens } = corpus
  const bytes = new Uint8Array(tokens.byteLength)
  const view = new DataView(bytes.buffer)
  if (tokens instanceof Uint16Array) for (const [index, token] of tokens.entries()) view.setUint16(index * 2, token, true)
  else for (const [index, token] of tokens.entries()) view.setUint32(index * 4, token, true)
  return bytes
}

export async function corpusFacts(corpus: Corpus): Promise<CorpusFacts> {
  const bytes = corpusBytes(corpus)
  return {
    bytes: bytes.length,
    sha256: await sha256(bytes),
    bytesPerToken: corpus.tokens.BYTES_PER_ELEMENT === 2 ? 2 : 4,
    trainTokens: corpus.numTrainSamples * corpus.blockSize,
    validationTokens: corpus.numValidationSamples * corpus.blockSize,
  }
}

/** @throws when the bytes are not those of the facts, or the facts contradict themselves. */
export async function corpusFromBytes(bytes: Uint8Array<ArrayBuffer>, facts: CorpusFacts, blockSize: number): Promise<Corpus> {
  const { bytesPerToken, trainTokens, validationTokens } = facts
  if (bytes.length !== facts.bytes) throw new Error(`Cannot read the training data: it has ${bytes.length} bytes, need ${facts.bytes}`)
  const tokens = trainTokens + validationTokens
  if (tokens * bytesPerToken !== facts.bytes || trainTokens % blockSize !== 0 || validationTokens % blockSize !== 0) {
    throw new Error(`Cannot read the training data: ${facts.bytes} bytes are not ${trainTokens} + ${validationTokens} tokens in blocks of ${blockSize}`)
  }
  const hash = await sha256(bytes)
  if (hash !== facts.sha256) throw new Error(`Cannot read the training data: its SHA-256 is ${hash}, need ${facts.sha256}`)
  return {
    tokens: bytesPerToken === 2 ? readTokens16(bytes, tokens) : readTokens32(bytes, tokens),
    blockSize,
    numTrainSamples: trainTokens / blockSize,
    numValidationSamples: validationTokens / blockSize,
  }
}

function readTokens16(bytes: Uint8Array, length: number): Uint16Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Uint16Array.from({ length }, (_, index) => view.getUint16(index * 2, true))
}

function readTokens32(bytes: Uint8Array, length: number): Uint32Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Uint32Array.from({ length }, (_, index) => view.getUint32(index * 4, true))
}
