// qkv, out, lse as in the forward, gradient: [BATCH * LENGTH, HEADS * HEAD_DIM] -> the queries' part of dqkv, delta [BATCH, HEADS, LENGTH]
// delta = gradient . out is kept for the keys' and values' pass. The forward's design: one query in each invocation, keys and values in
// workgroup memory. For GPUs.
const BATCH = 1u; // @shape
const LENGTH = 8u; // @shape
const HEADS = 2u; // @shape
const KV_HEADS = 2u; // @shape
const HEAD_DIM = 4u; // @shape
// Vectors of a head, the last one filled up with zeros.
const D4 = 1u; // @shape
const SCALE = 1.0; // @variant
const ACCUMULATE = 0u; // @variant
// Rows hold several documents, which do not see each other: bounds has where a token's document starts and ends in its row.
const PACKED = 0u; // @variant
// Rows in workgroup memory at a time; two tiles must fit in 16 KiB.
const TILE = 32u; // @tune
const STRIDE = (HEADS + 2u * KV_HEADS) * HEAD_DIM;
const ROWS = BATCH * LENGTH;
const BLOCKS = (LENGTH + 63u) / 64u;
const SHARE = HEADS / KV_HEADS;
const BOUNDS = select(1u, ROWS, PACKED == 1u);

@group(0) @binding(0) var<storage, read> qkv: array<f32, ROWS * STRIDE>;
@group(0) @binding(1) var<storage, read> out: array<f32, ROWS * HEADS * HEAD_DIM>;
@group(0) @binding(2) var<storage, read> gradient: array<f32, ROWS * HEADS * HEAD_DIM>;
@group(0) @binding(3) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<f32, ROWS * STRIDE>;
@group(0) @binding(5) var<storage, read_write> delta: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(6) var<storage, read> bounds: array<vec2u, BOUNDS>;

fn load(at: u32, d: u32) -> vec4f {
  let place = at + 4u * d;
  var value = vec4f(qkv[place], 0.0, 0.0, 0.0);
  if (4u * d + 1u < HEAD_DIM) {
    value.y = qkv[place + 1u];
  }
  if (4u * d + 2u < HEAD_DIM) {
    value.z = qkv[place + 2u];
  }
  if (4u * d + 3u < HEAD_DIM) {
    value.w = qkv[place + 3u];
  }
  return value;
}

fn loadGradient(at: u32, d: u32) -> vec4f {
  let place = at + 4u * d;
  var value = vec4f(gradient[place], 0.0, 0.0, 0.0);
  if (4u * d + 1u < HEAD_DIM) {
    value.y = gradient[place + 1u];
  }
  if (4u * d + 2u < HEAD_DIM) {
    value.z = gradient[place + 2u];
  }
  if (4u * d + 3u < HEAD_DIM) {
    value.w = gradient[place + 3u];
  }
  return value;
}

fn loadOut(at: u32, d: u32) -> vec4f {
  let place = at + 4u * d;
  var value = vec4f(out[place], 0.0, 0.0, 0.0);
  if (4u * d + 1u < HEAD_DIM) {
    value.y = out[place + 1u];
  }
  if (4u * d + 2u < HEAD_DIM) {
    value.z = out[place + 2u];
  }
  if (4u * d + 3u < HEAD_DIM) {
    value.w = out[place + 3u];
  }
  return value;
}

fn add(at: u32, value: f32) {
  if (ACCUMULATE == 1u) {
    dqkv[at] += value;
  } else {
    dqkv[at] = value;
  }
}

fn store(at: u32, d: u32, value: vec4f) {
  let place = at + 4u * d;
  add(place, value.x);
  if (4u * d + 1u < HEAD_DIM) {
    add(place + 1u, value.y);
  }
  if (4u * d + 2u < HEAD_DIM) {
    add(place + 2u, value.z);
  }
  if (4u * d + 3u < HEAD_DIM) {
    add(place + 3u, value.w);
  }
}

// Where the document of a token starts.
fn startOf(row: u32) -> u32 {
  if (PACKED == 1u) {
    return bounds[row].x;
  }
  return 0u;
}

// The first key of a tile that a query sees.
fn firstIn(tile: u32, begin: u32) -> u32 {
  if (PACKED == 1u) {
    return max(begin, tile) - tile;
  }
  return 0u;
}

var<workgroup> keys: array<vec4f, TILE * D4>;
var<workgroup> values: array<vec4f, TILE * D4>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let block = group.y * 65535u + group.x;
  if (block >= BATCH * HEADS * BLOCKS) {
    return;
  }
  // The longest first.
  let first = (BLOCKS - 1u - block % BLOCKS) * 64u;
  let head = (block / BLOCKS) % HEADS;
  let start = block / (BLOCKS * HEADS) * LENGTH;
  let i = first + index;
  let inside = min(i, LENGTH - 1u);
  let queryAt = (start + inside) * STRIDE + head * HEAD_DIM;
  let outAt = ((start + inside) * HEADS + head) * HEAD_DIM;
  let keysAt = start * STRIDE + (HEADS + head / SHARE) * HEAD_DIM;
  var query: array<vec4f, D4>;
  var outward: array<vec4f, D4>;
  var sum: array<vec4f, D4>;
  var product = 0.0;
  for (var d = 0u; d < D4; d++) { // @unroll
    query[d] = load(queryAt, d) * SCALE;
    outward[d] = loadGradient(outAt, d);
    product += dot(outward[d], loadOut(outAt, d));
    sum[d] = vec4f(0.0);
  }
  let normaliser = lse[start * HEADS + head * LENGTH + inside];
  let begin = startOf(start + inside);
  for (var tile = startOf(start + first); tile < min(first + 64u, LENGTH); tile += TILE) {
    workgroupBarrier();
    for (var at = index; at < TILE * D4; at += 64u) {
      let keyAt = keysAt + min(tile + at / D4, LENGTH - 1u) * STRIDE;
      keys[at] = load(keyAt, at % D4);
      values[at] = load(keyAt + KV_HEADS * HEAD_DIM, at % D4);
    }
    workgroupBarrier();
    for (var k = firstIn(tile, begin); k < TILE && tile + k <= inside; k++) {
      var score = 0.0;
      var agreement = 0.0;
      for (var d = 0u; d < D4; d++) { // @unroll
        score += dot(query[d], keys[k * D4 + d]);
        agreement += dot(outward[d], values[k * D4 + d]);
      }
      let dScore = exp(score - normaliser) * (agreement - product) * SCALE;
      for (var d = 0u; d < D4; d++) { // @unroll
        sum[d] += dScore * keys[k * D4 + d];
      }
    }
  }
  if (i >= LENGTH) {
    return;
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    store(queryAt, d, sum[d]);
  }
  delta[start * HEADS + head * LENGTH + i] = product;
}
