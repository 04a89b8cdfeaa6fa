// gradient: [ROWS, COLUMNS], ROWS = batch * LENGTH -> dPositions [LENGTH, COLUMNS] += sums over the batch
// One invocation for each element of the result.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const LENGTH = 8u; // @shape
const POSITION_ELEMENTS = 64u; // @shape
const STEP = LENGTH * COLUMNS;

@group(0) @binding(0) var<storage, read> gradient: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read_write> dPositions: array<f32, POSITION_ELEMENTS>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= STEP) {
    return;
  }
  var sum = 0.0;
  for (var at = index; at < ROWS * COLUMNS; at += STEP) {
    sum += gradient[at];
  }
  dPositions[index] += sum;
}
