// gradient: [ROWS, COLUMNS], sorted: rows grouped by token -> dTable [VOCABULARY, COLUMNS] +=
// sorted holds: number of groups; the token of each group [ROWS]; where each group starts [ROWS + 1]; rows by group [ROWS].
// One invocation for each group and column: no two add to the same element, so no atomics and always the same bits.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const VOCABULARY = 8u; // @shape
const GROUPS = 8u; // @shape
const STARTS = 1u + ROWS;
const ORDER = 2u + 2u * ROWS;

@group(0) @binding(0) var<storage, read> gradient: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> sorted: array<u32, 2u + 3u * ROWS>;
@group(0) @binding(2) var<storage, read_write> dTable: array<f32, VOCABULARY * COLUMNS>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  let group = index / COLUMNS;
  let column = index % COLUMNS;
  if (group >= GROUPS || group >= sorted[0]) {
    return;
  }
  var sum = 0.0;
  let end = sorted[STARTS + group + 1u];
  for (var at = sorted[STARTS + group]; at < end; at++) {
    sum += gradient[sorted[ORDER + at] * COLUMNS + column];
  }
  dTable[sorted[1u + group] * COLUMNS + column] += sum;
}
