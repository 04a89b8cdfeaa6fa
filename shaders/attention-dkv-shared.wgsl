// qkv, lse, delta, gradient as in the queries' pass -> the keys' and values' part of dqkv
// A workgroup has 64 keys of a KV head, one in each invocation, and brings the queries behind its first key, of all heads that share it,
// into workgroup memory in tiles. For GPUs.
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

var<workgroup> queries: array<vec4f, TILE * D4>;
var<workgroup> outwards: array<vec4f, TILE * D4>;
// Log-sum-exp and delta of each query.
var<workgroup> stats: array<vec2f, TILE>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let block = group.y * 65535u + group.x;
  if (block >= BATCH * KV_HEADS * BLOCKS) {
    return;
  }
  let first = block % BLOCKS * 64u;
  let kvHead = (block / BLOCKS) % KV_HEADS;
  let start = block / (BLOCKS * KV_HEADS) * LENGTH;
  let j = first + index;
  let keyAt = (start + min(j, LENGTH - 1u)) * STRIDE + (HEADS + kvHead) * HEAD_DIM;
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
  let end = endOf(start + min(j, LENGTH - 1u));
  let last = endOf(start + min(first + 63u, LENGTH - 1u));
  for (var head = kvHead * SHARE; head < (kvHead + 1u) * SHARE; head++) {
    for (var tile = first; tile < last; tile += TILE) {
      workgroupBarrier();
      for (var at = index; at < TILE * D4; at += 64u) {
        let row = start + min(tile + at / D4, LENGTH - 1u);
        queries[at] = load(row * STRIDE + head * HEAD_DIM, at % D4);
        outwards[at] = loadGradient((row * HEADS + head) * HEAD_DIM, at % D4);
      }
      for (var at = index; at < TILE; at += 64u) {
        let row = start * HEADS + head * LENGTH + min(tile + at, LENGTH - 1u);
        stats[at] = vec2f(lse[row], delta[row]);
      }
      workgroupBarrier();
      for (var q = max(j, tile) - tile; q < min(TILE, max(end, tile) - tile); q++) {
        var score = 0.0;
        var agreement = 0.0;
        for (var d = 0u; d < D4; d++) { // @unroll
          score += dot(queries[q * D4 + d], key[d]);
          agreement += dot(outwards[q * D4 + d], value[d]);
        }
        let weight = exp(score - stats[q].x);
        let dScore = weight * (agreement - stats[q].y) * SCALE;
        for (var d = 0u; d < D4; d++) { // @unroll
          dKey[d] += dScore * queries[q * D4 + d];
          dValue[d] += weight * outwards[q * D4 + d];
        }
      }
    }
  }
  if (j >= LENGTH) {
    return;
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    store(keyAt, d, dKey[d]);
    store(valueAt, d, dValue[d]);
  }
}
