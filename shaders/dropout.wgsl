// x: [ROWS, COLUMNS] -> out = or += x * FACTOR where a random word is not below THRESHOLD, else 0
// rowKeys: two words for each LENGTH rows; key: one word of this use
const ROWS = 8u; // @shape
const COLUMNS = 8u; // @shape
const LENGTH = 4u; // @shape
const KEYS = 4u; // @shape
const THRESHOLD = 0u; // @shape
const FACTOR = 1.0; // @shape
const ACCUMULATE = 0u; // @variant
const QUADS = (COLUMNS + 3u) / 4u;

@group(0) @binding(0) var<storage, read> x: array<f32, ROWS * COLUMNS>;
@group(0) @binding(1) var<storage, read> rowKeys: array<u32, KEYS>;
@group(0) @binding(2) var<storage, read> key: array<u32, 1>;
@group(0) @binding(3) var<storage, read_write> out: array<f32, ROWS * COLUMNS>;

// pcg4d (Jarzynski and Olano 2020): four words to four, each bit of which depends on all.
fn mix(words: vec4u) -> vec4u {
  var v = words * 1664525u + 1013904223u;
  v.x += v.y * v.w;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v.w += v.y * v.z;
  v ^= v >> vec4u(16u);
  v.x += v.y * v.w;
  v.y += v.z * v.x;
  v.z += v.x * v.y;
  v.w += v.y * v.z;
  return v;
}

// Four neighbours of a row share one draw.
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= ROWS * QUADS) {
    return;
  }
  let row = index / QUADS;
  let quad = index % QUADS;
  let sample = row / LENGTH;
  let words = mix(vec4u(rowKeys[2u * sample], rowKeys[2u * sample + 1u] ^ key[0], row % LENGTH, quad));
  for (var lane = 0u; lane < 4u; lane++) {
    let column = 4u * quad + lane;
    if (column < COLUMNS) {
      let at = row * COLUMNS + column;
      let value = select(0.0, x[at] * FACTOR, words[lane] >= THRESHOLD);
      out[at] = select(value, out[at] + value, ACCUMULATE == 1u);
    }
  }
}
