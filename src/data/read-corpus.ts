import { sha256 } from '../base/sha256.ts'
import type { CorpusFacts } from '../protocol/room-messages.ts'
import { blocksFromBytes } from './block-corpus.ts'
import type { Corpus } from './corpus.ts'
import { rowsFromBytes } from './row-corpus.ts'

/** @throws when the bytes are not those of the facts, or the facts contradict themselves. */
export async function corpusFromBytes(bytes: Uint8Array<ArrayBuffer>, facts: CorpusFacts, blockSize: number): Promise<Corpus> {
  if (bytes.length !== facts.bytes) throw new Error(`Cannot read the training data: it has ${bytes.length} bytes, need ${facts.bytes}`)
  const hash = await sha256(bytes)
  if (hash !== facts.sha256) throw new Error(`Cannot read the training data: its SHA-256 is ${hash}, need ${facts.sha256}`)
  return facts.layout === 'rows' ? rowsFromBytes(bytes, facts) : blocksFromBytes(bytes, facts, blockSize)
}
