// qkv, out, lse as in the forward, gradient: [BATCH * LENGTH, HEADS * HEAD_DIM] -> the queries' part of dqkv, delta [BATCH, HEADS, LENGTH]
// One invocation for each query and head. delta = gradient . out is kept for the keys' and values' pass. For CPU adapters without subgroups.
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
const STRIDE = (HEADS + 2u * KV_HEADS) * HEAD_DIM;
const ROWS = BATCH * LENGTH;
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

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 32u) + id.x;
  if (index >= BATCH * HEADS * LENGTH) {
    return;
  }
  let i = index % LENGTH;
  let head = (index / LENGTH) % HEADS;
  let first = index / (LENGTH * HEADS) * LENGTH;
  let queryAt = (first + i) * STRIDE + head * HEAD_DIM;
  let outAt = ((first + i) * HEADS + head) * HEAD_DIM;
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
  let normaliser = lse[index];
  let begin = startOf(first + i);
  var keyAt = (first + begin) * STRIDE + (HEADS + head / SHARE) * HEAD_DIM;
  for (var j = begin; j <= i; j++) {
    var score = 0.0;
    var agreement = 0.0;
    let valueAt = keyAt + KV_HEADS * HEAD_DIM;
    for (var d = 0u; d < D4; d++) { // @unroll
      score += dot(query[d], load(keyAt, d));
      agreement += dot(outward[d], load(valueAt, d));
    }
    let dScore = exp(score - normaliser) * (agreement - product) * SCALE;
    for (var d = 0u; d < D4; d++) { // @unroll
      sum[d] += dScore * load(keyAt, d);
    }
    keyAt += STRIDE;
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    store(queryAt, d, sum[d]);
  }
  delta[index] = product;
}
