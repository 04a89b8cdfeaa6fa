// gradient, x: [ROWS, COLUMNS], stats: [ROWS, 2] -> partial sums of d weight and d bias, [PARTS, COLUMNS] each
// One invocation for each column and part of the rows; a column sum adds the parts in a fixed order.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const PARTS = 1u; // @shape
const PART_ROWS = (ROWS + PARTS - 1u) / PARTS;

@group(0) @binding(0) var<storage, read> gradient: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(2) var<storage, read> stats: array<vec2f, ROWS>;
@group(0) @binding(3) var<storage, read_write> dWeight: array<f32, PARTS * COLUMNS>;
@group(0) @binding(4) var<storage, read_write> dBias: array<f32, PARTS * COLUMNS>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  let part = id.y;
  if (column >= COLUMNS) {
    return;
  }
  var weightSum = 0.0;
  var biasSum = 0.0;
  let end = min((part + 1u) * PART_ROWS, ROWS);
  for (var row = part * PART_ROWS; row < end; row++) {
    let at = row * COLUMNS + column;
    let meanScale = stats[row];
    let value = gradient[at];
    weightSum += value * (x[at] - meanScale.x) * meanScale.y;
    biasSum += value;
  }
  dWeight[part * COLUMNS + column] = weightSum;
  dBias[part * COLUMNS + column] = biasSum;
}
