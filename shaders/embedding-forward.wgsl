// ids: [ROWS] below VOCABULARY, table: [VOCABULARY, COLUMNS], positions: [POSITIONS, COLUMNS] -> out [ROWS, COLUMNS]
// One invocation for each element; row r is position r % LENGTH, or places[r] where rows hold several documents.
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const VOCABULARY = 8u; // @shape
const LENGTH = 8u; // @shape
const POSITION_ELEMENTS = 64u; // @shape
const POSITIONS = 1u; // @variant
const PACKED = 0u; // @variant
const PLACES = select(1u, ROWS, PACKED == 1u);

@group(0) @binding(0) var<storage, read> ids: array<u32, ROWS>;
@group(0) @binding(1) var<storage, read> table: array<f32, VOCABULARY * COLUMNS>;
@group(0) @binding(2) var<storage, read> positions: array<f32, POSITION_ELEMENTS>;
@group(0) @binding(3) var<storage, read_write> out: array<f32, ROWS * COLUMNS>;
@group(0) @binding(4) var<storage, read> places: array<u32, PLACES>;

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
  if (index >= ROWS * COLUMNS) {
    return;
  }
  let row = index / COLUMNS;
  let column = index % COLUMNS;
  var value = table[ids[row] * COLUMNS + column];
  if (POSITIONS == 1u) {
    value += positions[placeOf(row) * COLUMNS + column];
  }
  out[index] = value;
}
