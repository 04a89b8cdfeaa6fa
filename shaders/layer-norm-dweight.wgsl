// gradient, x: [ROWS, COLUMNS], stats: [ROWS, 2] -> partial sums of d weight and d bias, [PARTS, GROUPS, COLUMNS] each
// One invocation for each column and part of the rows; a column sum adds the parts in a fixed order.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const GROUPS = 1u; // @shape
const PARTS = 1u; // @shape
// GROUPS rows lie side by side, each with weights of its own.
const WIDTH = GROUPS * COLUMNS;
const LINES = ROWS / GROUPS;
const PART_LINES = (LINES + PARTS - 1u) / PARTS;

@group(0) @binding(0) var<storage, read> gradient: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(2) var<storage, read> stats: array<vec2f, ROWS>;
@group(0) @binding(3) var<storage, read_write> dWeight: array<f32, PARTS * WIDTH>;
@group(0) @binding(4) var<storage, read_write> dBias: array<f32, PARTS * WIDTH>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  let part = id.y;
  if (column >= WIDTH) {
    return;
  }
  var weightSum = 0.0;
  var biasSum = 0.0;
  let end = min((part + 1u) * PART_LINES, LINES);
  for (var line = part * PART_LINES; line < end; line++) {
    let at = line * WIDTH + column;
    let meanScale = stats[line * GROUPS + column / COLUMNS];
    let value = gradient[at];
    weightSum += value * (x[at] - meanScale.x) * meanScale.y;
    biasSum += value;
  }
  dWeight[part * WIDTH + column] = weightSum;
  dBias[part * WIDTH + column] = biasSum;
}
