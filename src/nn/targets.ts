/** Labels of this value are not predicted; as torch's `ignore_index`. */
export const IGNORED = -100

/**
 * labels: [batch, length], one per input token -> targets [batch * length]: position t predicts label t + 1, the last predicts
 * nothing. The only place where labels are shifted.
 */
export function shiftLabels(labels: Int32Array, batch: number, length: number): Int32Array<ArrayBuffer> {
  if (labels.length !== batch * length) throw new Error(`Cannot shift ${labels.length} labels: need ${batch} x ${length}`)
  const targets = new Int32Array(labels.length).fill(IGNORED)
  for (let row = 0; row < batch; row++) targets.set(labels.subarray(row * length + 1, (row + 1) * length), row * length)
  return targets
}

export function countItems(targets: Int32Array): number {
  let items = 0
  for (const target of targets) if (target !== IGNORED) items++
  return items
}
