// qkv, lse, delta, gradient as in the queries' pass -> the keys' and values' part of dqkv
// One invocation for each key and KV head: it adds over the queries behind it and the heads that share it. For CPU adapters without subgroups.
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
@group(0) @binding(1) var<storage, read> gradient: array<f32, ROWS * HEADS * HEAD_DIM>;
@group(0) @binding(2) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(3) var<storage, read> delta: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<f32, ROWS * STRIDE>;
@group(0) @binding(5) var<storage, read> bounds: array<vec2u, BOUNDS>;

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

// Where the document of a token ends.
fn endOf(row: u32) -> u32 {
  if (PACKED == 1u) {
    return bounds[row].y;
  }
  return LENGTH;
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 32u) + id.x;
  if (index >= BATCH * KV_HEADS * LENGTH) {
    return;
  }
  let j = index % LENGTH;
  let kvHead = (index / LENGTH) % KV_HEADS;
  let batch = index / (LENGTH * KV_HEADS);
  let first = batch * LENGTH;
  let keyAt = (first + j) * STRIDE + (HEADS + kvHead) * HEAD_DIM;
  let valueAt = keyAt + KV_HEADS * HEAD_DIM;
  var key: array<vec4f, D4>;
  var value: array<vec4f, D4>;
  var dKey: array<vec4f, D4>;
  var dValue: array<vec4f, D4>;
  for (var d = 0u; d < D4; d++) { // @unroll
    key[d] = load(keyAt, d) * SCALE;
    value[d] = load(valueAt, d);
    dKey[d] = vec4f(0.0);
    dValue[d] = vec4f(0.0);
  }
  let end = endOf(first + j);
  for (var head = kvHead * SHARE; head < (kvHead + 1u) * SHARE; head++) {
    // From a common start, so that neighbours, whose keys are neighbours, load the same query together.
    for (var i = j - j % 4u; i < end; i++) {
      let queryAt = (first + i) * STRIDE + head * HEAD_DIM;
      let outAt = ((first + i) * HEADS + head) * HEAD_DIM;
      let row = (batch * HEADS + head) * LENGTH + i;
      var score = 0.0;
      var agreement = 0.0;
      for (var d = 0u; d < D4; d++) { // @unroll
        score += dot(load(queryAt, d), key[d]);
        agreement += dot(loadGradient(outAt, d), value[d]);
      }
      let weight = select(0.0, exp(score - lse[row]), i >= j);
      let dScore = weight * (agreement - delta[row]) * SCALE;
      for (var d = 0u; d < D4; d++) { // @unroll
        dKey[d] += dScore * load(queryAt, d);
        dValue[d] += weight * loadGradient(outAt, d);
      }
    }
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    store(keyAt, d, dKey[d]);
    store(valueAt, d, dValue[d]);
  }
}
