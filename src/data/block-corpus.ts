import { sha256 } from '../base/sha256.ts'
import type { BlockFacts } from '../protocol/room-messages.ts'
import { type Corpus, type CorpusRow, checkSample } from './corpus.ts'
import type { Tokenizer } from './tokenizer.ts'

export interface CorpusShape {
  readonly blockSize: number
  /** Share of the tokens, at the end, that is held out. */
  readonly validationFraction: number
}

/** A text in whole blocks; every id is its own label. Sample i is tokens [i * rowLength, (i + 1) * rowLength). */
export class BlockCorpus implements Corpus {
  readonly tokens: Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>
  readonly rowLength: number
  readonly numTrainSamples: number
  readonly numValidationSamples: number
  readonly packed = false

  constructor(tokens: BlockCorpus['tokens'], rowLength: number, numTrainSamples: number) {
    this.tokens = tokens
    this.rowLength = rowLength
    this.numTrainSamples = numTrainSamples
    this.numValidationSamples = tokens.length / rowLength - numTrainSamples
  }

  row(sample: number): CorpusRow {
    checkSample(this, sample)
    const ids = this.tokens.subarray(sample * this.rowLength, (sample + 1) * this.rowLength)
    return { ids, labels: ids, starts: null }
  }

  itemsOf(): number {
    return this.rowLength - 1
  }

  tokensOf(): number {
    return this.rowLength
  }

  toBytes(): Uint8Array<ArrayBuffer> {
    const { tokens } = this
    const bytes = new Uint8Array(tokens.byteLength)
    const view = new DataView(bytes.buffer)
    if (tokens instanceof Uint16Array) for (const [index, token] of tokens.entries()) view.setUint16(index * 2, token, true)
    else for (const [index, token] of tokens.entries()) view.setUint32(index * 4, token, true)
    return bytes
  }

  async facts(): Promise<BlockFacts> {
    const bytes = this.toBytes()
    return {
      layout: 'blocks',
      bytes: bytes.length,
      sha256: await sha256(bytes),
      bytesPerToken: this.tokens.BYTES_PER_ELEMENT === 2 ? 2 : 4,
      trainTokens: this.numTrainSamples * this.rowLength,
      validationTokens: this.numValidationSamples * this.rowLength,
    }
  }
}

/**
 * Cuts a text into blocks, as run_clm.py's group_texts: what is left at the end of each split is dropped.
 * @throws when a split has no whole block.
 */
export function buildBlocks(text: string, tokenizer: Pick<Tokenizer, 'encode' | 'vocabSize'>, shape: CorpusShape): BlockCorpus {
  const { blockSize, validationFraction } = shape
  const all = tokenizer.encode(text)
  const held = Math.floor(all.length * validationFraction)
  const train = wholeBlocks(all.subarray(0, all.length - held), blockSize)
  const validation = wholeBlocks(all.subarray(all.length - held), blockSize)
  if (train.length < 1) throw tooShort('train on this text', all.length - held, all.length, blockSize)
  if (validation.length < 1) throw tooShort(`hold out ${percent(validationFraction)} of this text for validation`, held, all.length, blockSize)
  return joined(train, validation, { blockSize, vocabSize: tokenizer.vocabSize })
}

/** As `buildBlocks` with a text of its own to evaluate on. */
export function buildBlocksOfTwo(text: string, validationText: string, tokenizer: Pick<Tokenizer, 'encode' | 'vocabSize'>, blockSize: number): BlockCorpus {
  const [trainIds, validationIds] = [tokenizer.encode(text), tokenizer.encode(validationText)]
  const [train, validation] = [wholeBlocks(trainIds, blockSize), wholeBlocks(validationIds, blockSize)]
  if (train.length < 1) throw tooShort('train on this text', trainIds.length, trainIds.length, blockSize)
  if (validation.length < 1) throw tooShort('evaluate on the validation text', validationIds.length, validationIds.length, blockSize)
  return joined(train, validation, { blockSize, vocabSize: tokenizer.vocabSize })
}

function wholeBlocks(ids: Uint32Array, blockSize: number): Uint32Array {
  return ids.subarray(0, ids.length - (ids.length % blockSize))
}

function joined(train: Uint32Array, validation: Uint32Array, { blockSize, vocabSize }: { readonly blockSize: number; readonly vocabSize: number }): BlockCorpus {
  const size = train.length + validation.length
  const tokens = vocabSize <= 65_536 ? new Uint16Array(size) : new Uint32Array(size)
  tokens.set(train)
  tokens.set(validation, train.length)
  return new BlockCorpus(tokens, blockSize, train.length / blockSize)
}

function tooShort(what: string, tokens: number, all: number, blockSize: number): Error {
  return new Error(`Cannot ${what}: that is ${tokens} of ${all} tokens, need at least one block of ${blockSize}. Use a longer text or a smaller block_size`)
}

function percent(fraction: number): string {
  return `${Number((fraction * 100).toPrecision(4))} %`
}

/** bytes: as `toBytes` gives them, already known to be as long and to have the hash that the facts say. @throws when the facts contradict themselves. */
export function blocksFromBytes(bytes: Uint8Array<ArrayBuffer>, { bytesPerToken, trainTokens, validationTokens }: BlockFacts, blockSize: number): BlockCorpus {
  const tokens = trainTokens + validationTokens
  if (tokens * bytesPerToken !== bytes.length || trainTokens % blockSize !== 0 || validationTokens % blockSize !== 0) {
    throw new Error(`Cannot read the training data: ${bytes.length} bytes are not ${trainTokens} + ${validationTokens} tokens in blocks of ${blockSize}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const read =
    bytesPerToken === 2
      ? Uint16Array.from({ length: tokens }, (_, index) => view.getUint16(index * 2, true))
      : Uint32Array.from({ length: tokens }, (_, index) => view.getUint32(index * 4, true))
  return new BlockCorpus(read, blockSize, trainTokens / blockSize)
}
