import { IGNORED_LABEL } from './batch.ts'
import type { CorpusRow } from './corpus.ts'

/**
 * Puts documents together into rows of at most `blockSize` tokens, best fit decreasing, as TRL's `bfd`: none is cut. Rows are in the order
 * of their first documents. Nothing predicts a document's first token, and `starts` keeps each from seeing the others.
 */
export function packRows(documents: readonly CorpusRow[], blockSize: number): CorpusRow[] {
  const bins: Bin[] = []
  /** Bins by the tokens that still fit in. */
  const byRoom = Array.from({ length: blockSize + 1 }, (): Bin[] => [])
  const bySize = [...documents.keys()].sort((a, b) => lengthOf(documents, b) - lengthOf(documents, a) || a - b)
  for (const index of bySize) {
    const length = lengthOf(documents, index)
    let room = length
    while (room < blockSize && byRoom[room]?.length === 0) room++
    const bin = byRoom[room]?.pop() ?? { members: [] }
    if (bin.members.length === 0) bins.push(bin)
    bin.members.push(index)
    byRoom[room - length]?.push(bin)
  }
  for (const { members } of bins) members.sort((a, b) => a - b)
  bins.sort((a, b) => (a.members[0] ?? 0) - (b.members[0] ?? 0))
  return bins.map(({ members }) => joined(members.flatMap((index) => documents[index] ?? [])))
}

interface Bin {
  readonly members: number[]
}

function lengthOf(documents: readonly CorpusRow[], index: number): number {
  return documents[index]?.ids.length ?? 0
}

function joined(documents: readonly CorpusRow[]): CorpusRow {
  const ids: number[] = []
  const labels: number[] = []
  const starts: number[] = []
  for (const document of documents) {
    const start = ids.length
    ids.push(...Array.from(document.ids))
    labels.push(...Array.from(document.labels, (label, at) => (at === 0 ? IGNORED_LABEL : label)))
    starts.push(...new Array<number>(document.ids.length).fill(start))
  }
  return { ids, labels, starts }
}
