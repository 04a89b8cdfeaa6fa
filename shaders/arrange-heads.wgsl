// source: [ROWS, SOURCE_STRIDE] -> target [ROWS, TARGET_STRIDE]: HEADS heads from one layout of columns to another,
// their first 2 HALF elements rotated by the row's position: element d with d + HALF. table: [POSITIONS, HALF] (cosine, sine)
// Row r is position r % LENGTH, or places[r] where rows hold several documents.
const ROWS = 8u; // @shape
const LENGTH = 8u; // @shape
const HEADS = 2u; // @shape
const HEAD_DIM = 4u; // @shape
const POSITIONS = 8u; // @shape
const SOURCE_STRIDE = 24u; // @shape
const TARGET_STRIDE = 24u; // @shape
// Column of the first head, and columns from one head to the next.
const SOURCE_START = 0u; // @shape
const SOURCE_STEP = 4u; // @shape
const TARGET_START = 0u; // @shape
const TARGET_STEP = 4u; // @shape
const HALF = 2u; // @shape
// The rotation's transpose: for gradients.
const TRANSPOSED = 0u; // @variant
const ACCUMULATE = 0u; // @variant
const PACKED = 0u; // @variant
const PLACES = select(1u, ROWS, PACKED == 1u);
const TABLE = max(1u, POSITIONS * HALF);

@group(0) @binding(0) var<storage, read> source: array<f32, ROWS * SOURCE_STRIDE>;
@group(0) @binding(1) var<storage, read> table: array<vec2f, TABLE>;
@group(0) @binding(2) var<storage, read_write> out: array<f32, ROWS * TARGET_STRIDE>;
@group(0) @binding(3) var<storage, read> places: array<u32, PLACES>;

fn placeOf(row: u32) -> u32 {
  if (PACKED == 1u) {
    return places[row];
  }
  return row % LENGTH;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= ROWS * HEADS * HEAD_DIM) {
    return;
  }
  let d = index % HEAD_DIM;
  let head = (index / HEAD_DIM) % HEADS;
  let row = index / (HEAD_DIM * HEADS);
  let start = row * SOURCE_STRIDE + SOURCE_START + head * SOURCE_STEP + d;
  var value = source[start];
  if (d < 2u * HALF) {
    let second = d >= HALF;
    let turn = table[placeOf(row) * HALF + select(d, d - HALF, second)];
    let other = source[select(start + HALF, start - HALF, second)];
    value = value * turn.x + select(-1.0, 1.0, second != (TRANSPOSED == 1u)) * other * turn.y;
  }
  let place = row * TARGET_STRIDE + TARGET_START + head * TARGET_STEP + d;
  if (ACCUMULATE == 1u) {
    value += out[place];
  }
  out[place] = value;
}
