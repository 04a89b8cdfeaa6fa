enable subgroups;
// qkv: [BATCH * LENGTH, (HEADS + 2 KV_HEADS) * HEAD_DIM] -> out [BATCH * LENGTH, HEADS * HEAD_DIM], lse [BATCH, HEADS, LENGTH]
// Causal attention with online softmax, without barriers. A subgroup of four has 16 queries of a head, four in each lane, and meets
// four keys at a time. For CPU adapters, where loads cost most: each lane loads a quarter of the keys, the others get it by broadcast.
const BATCH = 1u; // @shape
const LENGTH = 8u; // @shape
const HEADS = 2u; // @shape
const KV_HEADS = 2u; // @shape
const HEAD_DIM = 4u; // @shape
// Vectors of a head, the last one filled up with zeros.
const D4 = 1u; // @shape
const SCALE = 1.0; // @variant
// Rows hold several documents, which do not see each other: bounds has where a token's document starts and ends in its row.
const PACKED = 0u; // @variant
const STRIDE = (HEADS + 2u * KV_HEADS) * HEAD_DIM;
const BLOCKS = (LENGTH + 15u) / 16u;
const BOUNDS = select(1u, BATCH * LENGTH, PACKED == 1u);

@group(0) @binding(0) var<storage, read> qkv: array<f32, BATCH * LENGTH * STRIDE>;
@group(0) @binding(1) var<storage, read_write> out: array<f32, BATCH * LENGTH * HEADS * HEAD_DIM>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(3) var<storage, read> bounds: array<vec2u, BOUNDS>;

// Element 4 d + lane of four rows.
fn quarter(at: vec4u, d: u32, lane: u32) -> vec4f {
  if (4u * d + 3u >= HEAD_DIM && 4u * d + lane >= HEAD_DIM) {
    return vec4f(0.0);
  }
  let place = at + (4u * d + lane);
  return vec4f(qkv[place.x], qkv[place.y], qkv[place.z], qkv[place.w]);
}

// Elements 4 d to 4 d + 3 of four rows: a column for each element.
fn columns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(quarter(at, d, 0u), quarter(at, d, 1u), quarter(at, d, 2u), quarter(at, d, 3u));
}

fn store(at: u32, d: u32, value: vec4f) {
  let place = at + 4u * d;
  out[place] = value.x;
  if (4u * d + 1u < HEAD_DIM) {
    out[place + 1u] = value.y;
  }
  if (4u * d + 2u < HEAD_DIM) {
    out[place + 2u] = value.z;
  }
  if (4u * d + 3u < HEAD_DIM) {
    out[place + 3u] = value.w;
  }
}

// Where the document of a token starts.
fn startOf(row: u32) -> u32 {
  if (PACKED == 1u) {
    return bounds[row].x;
  }
  return 0u;
}

fn sees(row: vec4u, key: u32, begin: vec4u) -> vec4<bool> {
  if (PACKED == 1u) {
    return (vec4u(key) <= row) & (vec4u(key) >= begin);
  }
  return vec4u(key) <= row;
}

@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(subgroup_invocation_id) lane: u32) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = group.y * 65535u + group.x;
  if (index >= BATCH * HEADS * BLOCKS) {
    return;
  }
  // The longest first.
  let first = (BLOCKS - 1u - index % BLOCKS) * 16u;
  let head = (index / BLOCKS) % HEADS;
  let start = index / (BLOCKS * HEADS) * LENGTH;
  let row = first + 4u * lane + vec4u(0u, 1u, 2u, 3u);
  let inside = start + min(row, vec4u(LENGTH - 1u));
  var query: array<mat4x4f, D4>;
  var sum: array<mat4x4f, D4>;
  for (var d = 0u; d < D4; d++) { // @unroll
    query[d] = columns(inside * STRIDE + head * HEAD_DIM, d) * SCALE;
    sum[d] = mat4x4f();
  }
  var largest = vec4f(-1e30);
  var total = vec4f(0.0);
  let begin = vec4u(startOf(inside.x), startOf(inside.y), startOf(inside.z), startOf(inside.w));
  for (var j = startOf(start + first); j < min(first + 16u, LENGTH); j += 4u) {
    let key = j + vec4u(0u, 1u, 2u, 3u);
    let keyAt = (start + min(key, vec4u(LENGTH - 1u))) * STRIDE + (HEADS + head * KV_HEADS / HEADS) * HEAD_DIM;
    var score = mat4x4f();
    for (var d = 0u; d < D4; d++) { // @unroll
      let mine = quarter(keyAt, d, lane);
      let keys = transpose(mat4x4f(quadBroadcast(mine, 0u), quadBroadcast(mine, 1u), quadBroadcast(mine, 2u), quadBroadcast(mine, 3u)));
      score += query[d] * keys;
    }
    // Below the largest so far also where a query has seen nothing yet, so that such keys weigh nothing.
    score[0] = select(vec4f(-1e38), score[0], sees(row, key.x, begin));
    score[1] = select(vec4f(-1e38), score[1], sees(row, key.y, begin));
    score[2] = select(vec4f(-1e38), score[2], sees(row, key.z, begin));
    score[3] = select(vec4f(-1e38), score[3], sees(row, key.w, begin));
    let next = max(largest, max(max(score[0], score[1]), max(score[2], score[3])));
    let shrink = exp(largest - next);
    let weight = mat4x4f(exp(score[0] - next), exp(score[1] - next), exp(score[2] - next), exp(score[3] - next));
    largest = next;
    total = total * shrink + ((weight[0] + weight[1]) + (weight[2] + weight[3]));
    for (var d = 0u; d < D4; d++) { // @unroll
      let mine = quarter(keyAt + KV_HEADS * HEAD_DIM, d, lane);
      sum[d][0] = sum[d][0] * shrink + weight * quadBroadcast(mine, 0u);
      sum[d][1] = sum[d][1] * shrink + weight * quadBroadcast(mine, 1u);
      sum[d][2] = sum[d][2] * shrink + weight * quadBroadcast(mine, 2u);
      sum[d][3] = sum[d][3] * shrink + weight * quadBroadcast(mine, 3u);
    }
  }
  let outAt = inside * (HEADS * HEAD_DIM) + head * HEAD_DIM;
  let saved = largest + log(total);
  for (var q = 0u; q < 4u; q++) {
    if (row[q] < LENGTH) {
      lse[(start * HEADS + head * LENGTH) + row[q]] = saved[q];
    }
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    let values = transpose(sum[d]);
    for (var q = 0u; q < 4u; q++) {
      if (row[q] < LENGTH) {
        store(outAt[q], d, values[q] / total[q]);
      }
    }
  }
}
