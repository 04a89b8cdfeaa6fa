/** Rows by id, each id's rows in order: [groups, ids..., starts..., rows...], for a gradient that adds up rows by id. */
export function groupRows(ids: Uint32Array): Uint32Array<ArrayBuffer> {
  const rows = ids.length
  const order = Array.from(ids.keys()).sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0) || a - b)
  const packed = new Uint32Array(2 + 3 * rows)
  let groups = 0
  for (const [at, row] of order.entries()) {
    packed[2 + 2 * rows + at] = row
    if (at > 0 && ids[row] === packed[groups]) continue
    packed[1 + groups] = ids[row] ?? 0
    packed[1 + rows + groups] = at
    groups++
  }
  packed[1 + rows + groups] = rows
  packed[0] = groups
  return packed
}
