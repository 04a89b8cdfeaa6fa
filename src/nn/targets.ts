/** Labels of this value are not predicted; as torch's `ignore_index`. */
export const IGNORED = -100

export interface LabelShape {
  readonly batch: number
  readonly length: number
  /** As in `MicroBatch`; null or missing where every row is one document. */
  readonly starts?: Uint32Array | null
}

/**
 * labels: [batch, length], one per input token -> targets [batch * length]: position t predicts label t + 1, the last of a document
 * predicts nothing. The only place where labels are shifted.
 */
export function shiftLabels(labels: Int32Array, { batch, length, starts = null }: LabelShape): Int32Array<ArrayBuffer> {
  if (labels.length !== batch * length) throw new Error(`Cannot shift ${labels.length} labels: need ${batch} x ${length}`)
  const targets = new Int32Array(labels.length).fill(IGNORED)
  for (let row = 0; row < batch; row++) targets.set(labels.subarray(row * length + 1, (row + 1) * length), row * length)
  if (starts) for (const [at, start] of starts.entries()) if (start > 0 && start === at % length) targets[at - 1] = IGNORED
  return targets
}

export function countItems(targets: Int32Array): number {
  let items = 0
  for (const target of targets) if (target !== IGNORED) items++
  return items
}
