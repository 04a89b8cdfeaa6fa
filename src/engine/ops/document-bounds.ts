import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { groupRows } from './group-rows.ts'

/** Where the documents of packed rows lie, on the GPU. */
export interface Documents {
  /** u32 [batch * length, 2]: positions in its row at which a token's document starts, and ends (exclusive). */
  readonly bounds: Tensor
  /** u32 [batch * length]: each token's position in its document. */
  readonly positions: Tensor
  /** Rows grouped by position, as embedding-backward.wgsl has them. */
  readonly sorted: Tensor
}

/** @throws when `starts` are not those of documents that follow one another without gaps. */
export function uploadDocuments(engine: Engine, starts: Uint32Array, { batch, length }: { readonly batch: number; readonly length: number }): Documents {
  checkStarts(starts, batch, length)
  const rows = batch * length
  const bounds = new Uint32Array(2 * rows)
  const positions = new Uint32Array(rows)
  for (let at = rows - 1; at >= 0; at--) {
    const t = at % length
    const start = starts[at] ?? 0
    const last = t === length - 1 || starts[at + 1] === t + 1
    bounds[2 * at] = start
    bounds[2 * at + 1] = last ? t + 1 : (bounds[2 * at + 3] ?? 0)
    positions[at] = t - start
  }
  return { bounds: engine.upload(bounds, [rows, 2]), positions: engine.upload(positions, [rows]), sorted: engine.upload(groupRows(positions), [2 + 3 * rows]) }
}

function checkStarts(starts: Uint32Array, batch: number, length: number): void {
  if (starts.length !== batch * length) throw new Error(`Cannot pack rows with ${starts.length} starts: need ${batch} x ${length}`)
  for (const [at, start] of starts.entries()) {
    const t = at % length
    const before = t === 0 ? 0 : (starts[at - 1] ?? 0)
    if (start === t || start === before) continue
    throw new Error(`Cannot pack row ${Math.floor(at / length)}: the document of position ${t} starts at ${start}, need ${before} or ${t}`)
  }
}
