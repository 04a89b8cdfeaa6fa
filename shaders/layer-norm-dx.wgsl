// gradient, x: [ROWS, COLUMNS], weight: [GROUPS, COLUMNS], stats: [ROWS, 2] -> dx [ROWS, COLUMNS]
// One invocation for each row.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const GROUPS = 1u; // @shape
const CENTRED = 1u; // @variant
const ACCUMULATE = 0u; // @variant

@group(0) @binding(0) var<storage, read> gradient: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(2) var<storage, read> weight: array<f32, GROUPS * COLUMNS>;
@group(0) @binding(3) var<storage, read> stats: array<vec2f, ROWS>;
@group(0) @binding(4) var<storage, read_write> dx: array<f32, ROWS * COLUMNS>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= ROWS) {
    return;
  }
  let start = row * COLUMNS;
  let group = (row % GROUPS) * COLUMNS;
  let mean = stats[row].x;
  let scale = stats[row].y;
  var sum = 0.0;
  var product = 0.0;
  for (var column = 0u; column < COLUMNS; column++) {
    let scaled = gradient[start + column] * weight[group + column];
    sum += scaled;
    product += scaled * (x[start + column] - mean) * scale;
  }
  sum = select(0.0, sum / f32(COLUMNS), CENTRED == 1u);
  product /= f32(COLUMNS);
  for (var column = 0u; column < COLUMNS; column++) {
    let normal = (x[start + column] - mean) * scale;
    var value = scale * (gradient[start + column] * weight[group + column] - sum - normal * product);
    if (ACCUMULATE == 1u) {
      value += dx[start + column];
    }
    dx[start + column] = value;
  }
}
