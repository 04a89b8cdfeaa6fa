enable subgroups;
// a, b: form NN [M, K] [K, N]; NT [M, K] [N, K]; TN [K, M] [K, N] -> out [M, N] (+ bias [N], + addend [M, N])
// A subgroup of four makes a 16 x 64 tile in registers, without barriers: each lane 16 x 16. For CPU adapters, where loads cost most:
// each lane loads four rows of a and the others get them by broadcast. K and N are multiples of 4, and so is M for TN.
// Tiles that stick out read the last row or column again and store nothing there.
const M = 16u; // @shape
const N = 64u; // @shape
const K = 4u; // @shape
const BIAS_VECTORS = 1u; // @shape
const ADDEND_VECTORS = 1u; // @shape
const PRE_VECTORS = 1u; // @shape
const FORM = 0u; // @variant
const BIAS = 0u; // @variant
const ADDEND = 0u; // @variant
const ACTIVATION = 0u; // @variant
const ACCUMULATE = 0u; // @variant
const N4 = N / 4u;
const K4 = K / 4u;
const M4 = max(1u, M / 4u);

@group(0) @binding(0) var<storage, read> a: array<vec4f, (M * K) / 4u>;
@group(0) @binding(1) var<storage, read> b: array<vec4f, (K * N) / 4u>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f, (M * N) / 4u>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f, BIAS_VECTORS>;
// ADDEND 1: added to the result.
@group(0) @binding(4) var<storage, read> addend: array<vec4f, ADDEND_VECTORS>;
// ACTIVATION 1: tanh-GELU. ACTIVATION 2: GELU. The result before the activation is kept here.
@group(0) @binding(5) var<storage, read_write> pre: array<vec4f, PRE_VECTORS>;

// exp of a bounded argument: tanh of a large one is NaN on some adapters.
fn tanh4(x: vec4f) -> vec4f {
  let e = exp(-2.0 * min(abs(x), vec4f(15.0)));
  return sign(x) * (1.0 - e) / (1.0 + e);
}

fn gelu(x: vec4f) -> vec4f {
  return 0.5 * x * (1.0 + tanh4(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// The normal distribution's share below x; by a polynomial for exp(z^2) erfc(z), to 7e-7 of it.
fn normalShare(x: vec4f) -> vec4f {
  let z = min(abs(x) * 0.7071067811865476, vec4f(10.0));
  let t = 1.0 / (1.0 + 0.4 * z);
  let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * exp(-z * z);
  return select(1.0 - 0.5 * tail, 0.5 * tail, x < vec4f(0.0));
}

fn store(row: u32, column: u32, sum: vec4f) {
  // Where no tile sticks out, nothing is asked.
  if ((M % 16u != 0u && row >= M) || (N % 64u != 0u && column >= N4)) {
    return;
  }
  let at = row * N4 + column;
  var value = sum;
  if (BIAS == 1u) {
    value += bias[column];
  }
  if (ACTIVATION == 1u) {
    pre[at] = value;
    value = gelu(value);
  }
  if (ACTIVATION == 2u) {
    pre[at] = value;
    value *= normalShare(value);
  }
  if (ADDEND == 1u) {
    value += addend[at];
  }
  if (ACCUMULATE == 1u) {
    value += out[at];
  }
  out[at] = value;
}

// 16 columns of one row: vectors 4 apart, so that the four lanes read neighbours in memory.
struct Row {
  p: vec4f,
  q: vec4f,
  r: vec4f,
  s: vec4f,
}

struct Tile {
  row0: Row,
  row1: Row,
  row2: Row,
  row3: Row,
  row4: Row,
  row5: Row,
  row6: Row,
  row7: Row,
  row8: Row,
  row9: Row,
  row10: Row,
  row11: Row,
  row12: Row,
  row13: Row,
  row14: Row,
  row15: Row,
}

fn advanceRow(row: Row, factor: f32, right: Row) -> Row {
  let f = vec4f(factor);
  return Row(fma(f, right.p, row.p), fma(f, right.q, row.q), fma(f, right.r, row.r), fma(f, right.s, row.s));
}

// One step along k: row 4 l + i is the i-th component of lane l's left.
fn advance(tile: Tile, left: vec4f, right: Row) -> Tile {
  return Tile(
    advanceRow(tile.row0, subgroupBroadcast(left.x, 0u), right),
    advanceRow(tile.row1, subgroupBroadcast(left.y, 0u), right),
    advanceRow(tile.row2, subgroupBroadcast(left.z, 0u), right),
    advanceRow(tile.row3, subgroupBroadcast(left.w, 0u), right),
    advanceRow(tile.row4, subgroupBroadcast(left.x, 1u), right),
    advanceRow(tile.row5, subgroupBroadcast(left.y, 1u), right),
    advanceRow(tile.row6, subgroupBroadcast(left.z, 1u), right),
    advanceRow(tile.row7, subgroupBroadcast(left.w, 1u), right),
    advanceRow(tile.row8, subgroupBroadcast(left.x, 2u), right),
    advanceRow(tile.row9, subgroupBroadcast(left.y, 2u), right),
    advanceRow(tile.row10, subgroupBroadcast(left.z, 2u), right),
    advanceRow(tile.row11, subgroupBroadcast(left.w, 2u), right),
    advanceRow(tile.row12, subgroupBroadcast(left.x, 3u), right),
    advanceRow(tile.row13, subgroupBroadcast(left.y, 3u), right),
    advanceRow(tile.row14, subgroupBroadcast(left.z, 3u), right),
    advanceRow(tile.row15, subgroupBroadcast(left.w, 3u), right),
  );
}

fn storeRow(row: u32, column: u32, sums: Row) {
  store(row, column, sums.p);
  store(row, column + 4u, sums.q);
  store(row, column + 8u, sums.r);
  store(row, column + 12u, sums.s);
}

// Four steps along k of the columns of one vector.
fn rightOf(k: u32, column: u32) -> mat4x4f {
  if (FORM == 1u) {
    let at = column * 4u * K4 + k;
    return transpose(mat4x4f(b[at], b[at + K4], b[at + 2u * K4], b[at + 3u * K4]));
  }
  let at = k * 4u * N4 + column;
  return mat4x4f(b[at], b[at + N4], b[at + 2u * N4], b[at + 3u * N4]);
}

// Four steps along k of rows m0 + 4 lane + (0, 1, 2, 3).
fn leftOf(k: u32, rows: vec4u) -> mat4x4f {
  if (FORM == 2u) {
    let at = k * 4u * M4 + rows.x;
    return mat4x4f(a[at], a[at + M4], a[at + 2u * M4], a[at + 3u * M4]);
  }
  let at = rows + k;
  return transpose(mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]));
}

@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(subgroup_invocation_id) lane: u32) {
  let m0 = group.y * 16u;
  let n0 = group.x * 16u + lane;
  let columns = min(vec4u(n0, n0 + 4u, n0 + 8u, n0 + 12u), vec4u(N4 - 1u));
  var rows = min(vec4u(0u, 1u, 2u, 3u) + (m0 + lane * 4u), vec4u(M - 1u)) * K4;
  if (FORM == 2u) {
    rows = vec4u(min(m0 / 4u + lane, M4 - 1u));
  }
  var tile: Tile;
  for (var k = 0u; k < K4; k++) {
    let left = leftOf(k, rows);
    let p = rightOf(k, columns.x);
    let q = rightOf(k, columns.y);
    let r = rightOf(k, columns.z);
    let s = rightOf(k, columns.w);
    tile = advance(tile, left[0], Row(p[0], q[0], r[0], s[0]));
    tile = advance(tile, left[1], Row(p[1], q[1], r[1], s[1]));
    tile = advance(tile, left[2], Row(p[2], q[2], r[2], s[2]));
    tile = advance(tile, left[3], Row(p[3], q[3], r[3], s[3]));
  }
  storeRow(m0 + 0u, n0, tile.row0);
  storeRow(m0 + 1u, n0, tile.row1);
  storeRow(m0 + 2u, n0, tile.row2);
  storeRow(m0 + 3u, n0, tile.row3);
  storeRow(m0 + 4u, n0, tile.row4);
  storeRow(m0 + 5u, n0, tile.row5);
  storeRow(m0 + 6u, n0, tile.row6);
  storeRow(m0 + 7u, n0, tile.row7);
  storeRow(m0 + 8u, n0, tile.row8);
  storeRow(m0 + 9u, n0, tile.row9);
  storeRow(m0 + 10u, n0, tile.row10);
  storeRow(m0 + 11u, n0, tile.row11);
  storeRow(m0 + 12u, n0, tile.row12);
  storeRow(m0 + 13u, n0, tile.row13);
  storeRow(m0 + 14u, n0, tile.row14);
  storeRow(m0 + 15u, n0, tile.row15);
}
