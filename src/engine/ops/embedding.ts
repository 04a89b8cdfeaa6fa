import backwardSource from '../../../shaders/embedding-backward.wgsl?raw'
import forwardSource from '../../../shaders/embedding-forward.wgsl?raw'
import positionSource from '../../../shaders/position-backward.wgsl?raw'
import { type Engine, foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import type { GradientTarget } from '../tape.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import { type Documents, uploadDocuments } from './document-bounds.ts'
import { groupRows } from './group-rows.ts'

const forward: Kernel = { name: 'embedding-forward', source: forwardSource }
const backward: Kernel = { name: 'embedding-backward', source: backwardSource }
const positionBackward: Kernel = { name: 'position-backward', source: positionSource }

/** Token ids of a micro-batch on the GPU. */
export interface TokenBatch {
  readonly batch: number
  readonly length: number
  /** u32 [batch * length] */
  readonly ids: Tensor
  /** Rows grouped by token, for the gradient of the table; layout in embedding-backward.wgsl. */
  readonly sorted: Tensor
  /** Null where every row is one document from 0. */
  readonly documents: Documents | null
  /** u32 [batch, 2]: what `dropout` draws from, for each row; null where nothing is dropped. */
  readonly dropoutKeys: Tensor | null
}

export interface TokenShape {
  readonly batch: number
  readonly length: number
  readonly vocabSize: number
  /** As in `MicroBatch`; null or missing where every row is one document from 0. */
  readonly starts?: Uint32Array | null
  readonly dropoutKeys?: Uint32Array<ArrayBuffer> | null
}

/** @throws when starts are not those of documents that follow one another, and when an id is not below the vocabulary's size: a shader would silently read another row. */
export function uploadTokens(engine: Engine, ids: Uint32Array<ArrayBuffer>, { batch, length, vocabSize, starts = null, dropoutKeys = null }: TokenShape): TokenBatch {
  if (ids.length !== batch * length) throw new Error(`Cannot upload ${ids.length} tokens: need ${batch} x ${length}`)
  const bad = ids.findIndex((id) => id >= vocabSize)
  if (bad >= 0) throw new Error(`Cannot embed token ${ids[bad]} at position ${bad}: the vocabulary has ${vocabSize}`)
  const documents = starts && uploadDocuments(engine, starts, { batch, length })
  const uploaded = { ids: engine.upload(ids, [ids.length]), sorted: engine.upload(groupRows(ids), [2 + 3 * ids.length]) }
  return { batch, length, ...uploaded, documents, dropoutKeys: dropoutKeys && engine.upload(dropoutKeys, [batch, 2]) }
}

/** tokens [B, T], table [V, C], positions [P, C] or null -> table[id] + positions[t]: [B * T, C]; t counts from the start of the document */
export function embedding(tokens: TokenBatch, table: Tensor, positions: Tensor | null): Tensor {
  const { engine } = table
  const { tape } = engine
  const { length, ids, sorted, documents } = tokens
  const rows = tokens.batch * length
  const [vocabulary = 0, columns = 0] = table.shape
  if (positions && (positions.shape[1] !== columns || (positions.shape[0] ?? 0) < length)) {
    throw new Error(`Cannot add positions of ${formatShape(positions.shape)}: need at least ${length} of width ${columns}`)
  }
  const out = engine.empty([rows, columns])
  const grid = (elements: number) => foldedGrid(Math.ceil(elements / 64))
  const constants = {
    ROWS: rows,
    COLUMNS: columns,
    VOCABULARY: vocabulary,
    LENGTH: length,
    POSITION_ELEMENTS: positions?.size ?? 4,
    POSITIONS: positions ? 1 : 0,
    PACKED: documents ? 1 : 0,
  }
  engine.dispatch(forward, constants, [ids, table, positions ?? engine.unused.read, out, documents?.positions ?? engine.unused.read], grid(rows * columns))

  tape.record([table, ...(positions ? [positions] : [])], out, [], (gradient) => {
    // Rows that share an id, of a token or of a position, are added up by one invocation.
    const addByGroup = (target: GradientTarget, count: number, groups: number, grouped: Tensor): void => {
      if (!target.accumulate) engine.clear(target.tensor.storage)
      const shape = { ROWS: rows, COLUMNS: columns, VOCABULARY: count, GROUPS: groups }
      engine.dispatch(backward, shape, [gradient, grouped, target.tensor], grid(groups * columns))
    }
    const dTable = tape.target(table)
    if (dTable) addByGroup(dTable, vocabulary, Math.min(rows, vocabulary), sorted)
    const dPositions = positions && tape.target(positions)
    if (!dPositions) return
    if (documents) return addByGroup(dPositions, positions.shape[0] ?? 0, length, documents.sorted)
    if (!dPositions.accumulate) engine.clear(dPositions.tensor.storage)
    const shape = { ROWS: rows, COLUMNS: columns, LENGTH: length, POSITION_ELEMENTS: positions.size }
    engine.dispatch(positionBackward, shape, [gradient, dPositions.tensor], grid(length * columns))
  })
  return out
}
