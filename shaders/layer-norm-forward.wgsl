// x: [ROWS, COLUMNS], weight, bias: [GROUPS, COLUMNS] -> out [ROWS, COLUMNS], stats [ROWS, 2] (mean, 1 / standard deviation)
// Row r has weights r % GROUPS. Not CENTRED: RMS norm, whose mean counts as zero. One invocation for each row.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const GROUPS = 1u; // @shape
const BIAS_ELEMENTS = 8u; // @shape
const EPSILON = 0.00001; // @variant
const BIAS = 1u; // @variant
const CENTRED = 1u; // @variant

@group(0) @binding(0) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> weight: array<f32, GROUPS * COLUMNS>;
@group(0) @binding(2) var<storage, read> bias: array<f32, BIAS_ELEMENTS>;
@group(0) @binding(3) var<storage, read_write> out: array<f32, ROWS * COLUMNS>;
@group(0) @binding(4) var<storage, read_write> stats: array<vec2f, ROWS>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= ROWS) {
    return;
  }
  let start = row * COLUMNS;
  let group = (row % GROUPS) * COLUMNS;
  var mean = 0.0;
  if (CENTRED == 1u) {
    var sum = 0.0;
    for (var column = 0u; column < COLUMNS; column++) {
      sum += x[start + column];
    }
    mean = sum / f32(COLUMNS);
  }
  // A second pass over the differences: the difference of two large sums would lose digits.
  var squares = 0.0;
  for (var column = 0u; column < COLUMNS; column++) {
    let difference = x[start + column] - mean;
    squares += difference * difference;
  }
  let scale = 1.0 / sqrt(squares / f32(COLUMNS) + EPSILON);
  for (var column = 0u; column < COLUMNS; column++) {
    var value = (x[start + column] - mean) * scale * weight[group + column];
    if (BIAS == 1u) {
      value += bias[group + column];
    }
    out[start + column] = value;
  }
  stats[row] = vec2f(mean, scale);
}
