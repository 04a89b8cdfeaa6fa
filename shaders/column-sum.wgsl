// x: [ROWS, COLUMNS] -> out [COLUMNS] += sums over rows, in a fixed order
// One invocation for each column and part of the rows; PARTS > 1 writes partial sums [PARTS, COLUMNS] for a second pass.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const PARTS = 1u; // @shape
const ACCUMULATE = 0u; // @variant
const PART_ROWS = (ROWS + PARTS - 1u) / PARTS;

@group(0) @binding(0) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read_write> out: array<f32, PARTS * COLUMNS>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  let part = id.y;
  if (column >= COLUMNS) {
    return;
  }
  var sum = 0.0;
  let end = min((part + 1u) * PART_ROWS, ROWS);
  for (var row = part * PART_ROWS; row < end; row++) {
    sum += x[row * COLUMNS + column];
  }
  let at = part * COLUMNS + column;
  if (ACCUMULATE == 1u) {
    sum += out[at];
  }
  out[at] = sum;
}
