enable subgroups;
// qkv, lse, delta, gradient as in the queries' pass -> the keys' and values' part of dqkv
// A subgroup of four has 16 keys of a KV head, four in each lane, and meets four queries at a time: all behind its first key, of all
// heads that share it.
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
const BLOCKS = (LENGTH + 15u) / 16u;
const BOUNDS = select(1u, BATCH * LENGTH, PACKED == 1u);

@group(0) @binding(0) var<storage, read> qkv: array<f32, BATCH * LENGTH * STRIDE>;
@group(0) @binding(1) var<storage, read> gradient: array<f32, BATCH * LENGTH * HEADS * HEAD_DIM>;
@group(0) @binding(2) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(3) var<storage, read> delta: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<f32, BATCH * LENGTH * STRIDE>;
@group(0) @binding(5) var<storage, read> bounds: array<vec2u, BOUNDS>;

// Element 4 d + lane of four rows.
fn quarter(at: vec4u, d: u32, lane: u32) -> vec4f {
  if (4u * d + 3u >= HEAD_DIM && 4u * d + lane >= HEAD_DIM) {
    return vec4f(0.0);
  }
  let place = at + (4u * d + lane);
  return vec4f(qkv[place.x], qkv[place.y], qkv[place.z], qkv[place.w]);
}

fn gradientQuarter(at: vec4u, d: u32, lane: u32) -> vec4f {
  if (4u * d + 3u >= HEAD_DIM && 4u * d + lane >= HEAD_DIM) {
    return vec4f(0.0);
  }
  let place = at + (4u * d + lane);
  return vec4f(gradient[place.x], gradient[place.y], gradient[place.z], gradient[place.w]);
}

// Elements 4 d to 4 d + 3 of four rows: a column for each element.
fn columns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(quarter(at, d, 0u), quarter(at, d, 1u), quarter(at, d, 2u), quarter(at, d, 3u));
}

fn gradientColumns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(gradientQuarter(at, d, 0u), gradientQuarter(at, d, 1u), gradientQuarter(at, d, 2u), gradientQuarter(at, d, 3u));
}

// Four rows, a column for each, of which every lane has loaded a quarter.
fn together(mine: vec4f) -> mat4x4f {
  return transpose(mat4x4f(quadBroadcast(mine, 0u), quadBroadcast(mine, 1u), quadBroadcast(mine, 2u), quadBroadcast(mine, 3u)));
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

fn sees(query: u32, row: vec4u, end: vec4u) -> vec4<bool> {
  if (PACKED == 1u) {
    return (row <= vec4u(query)) & (vec4u(query) < end);
  }
  return row <= vec4u(query);
}

@compute @workgroup_size(4)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(subgroup_invocation_id) lane: u32) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = group.y * 65535u + group.x;
  if (index >= BATCH * KV_HEADS * BLOCKS) {
    return;
  }
  let first = index % BLOCKS * 16u;
  let kvHead = (index / BLOCKS) % KV_HEADS;
  let start = index / (BLOCKS * KV_HEADS) * LENGTH;
  let row = first + 4u * lane + vec4u(0u, 1u, 2u, 3u);
  let inner = start + min(row, vec4u(LENGTH - 1u));
  let keyAt = inner * STRIDE + (HEADS + kvHead) * HEAD_DIM;
  var key: array<mat4x4f, D4>;
  var value: array<mat4x4f, D4>;
  var dKey: array<mat4x4f, D4>;
  var dValue: array<mat4x4f, D4>;
  var queries: array<vec4f, D4>;
  var outwards: array<vec4f, D4>;
  for (var d = 0u; d < D4; d++) { // @unroll
    key[d] = columns(keyAt, d) * SCALE;
    value[d] = columns(keyAt + KV_HEADS * HEAD_DIM, d);
    dKey[d] = mat4x4f();
    dValue[d] = mat4x4f();
  }
  let end = vec4u(endOf(inner.x), endOf(inner.y), endOf(inner.z), endOf(inner.w));
  let last = endOf(start + min(first + 15u, LENGTH - 1u));
  for (var head = kvHead * (HEADS / KV_HEADS); head < (kvHead + 1u) * (HEADS / KV_HEADS); head++) {
    for (var i = first; i < last; i += 4u) {
      let query = i + vec4u(0u, 1u, 2u, 3u);
      let inside = min(query, vec4u(LENGTH - 1u));
      let queryAt = (start + inside) * STRIDE + head * HEAD_DIM;
      let outAt = (start + inside) * (HEADS * HEAD_DIM) + head * HEAD_DIM;
      let statsAt = start * HEADS + head * LENGTH + inside;
      var score = mat4x4f();
      var agreement = mat4x4f();
      for (var d = 0u; d < D4; d++) { // @unroll
        queries[d] = quarter(queryAt, d, lane);
        outwards[d] = gradientQuarter(outAt, d, lane);
        score += key[d] * together(queries[d]);
        agreement += value[d] * together(outwards[d]);
      }
      // Keys behind the query, and queries behind the end, weigh nothing.
      let weight = mat4x4f(
        select(vec4f(0.0), exp(score[0] - lse[statsAt.x]), sees(query.x, row, end)),
        select(vec4f(0.0), exp(score[1] - lse[statsAt.y]), sees(query.y, row, end) & (query.yyyy < vec4u(LENGTH))),
        select(vec4f(0.0), exp(score[2] - lse[statsAt.z]), sees(query.z, row, end) & (query.zzzz < vec4u(LENGTH))),
        select(vec4f(0.0), exp(score[3] - lse[statsAt.w]), sees(query.w, row, end) & (query.wwww < vec4u(LENGTH))),
      );
      let dScore = mat4x4f(
        weight[0] * (agreement[0] - delta[statsAt.x]),
        weight[1] * (agreement[1] - delta[statsAt.y]),
        weight[2] * (agreement[2] - delta[statsAt.z]),
        weight[3] * (agreement[3] - delta[statsAt.w]),
      );
      for (var d = 0u; d < D4; d++) { // @unroll
        dKey[d][0] += dScore * quadBroadcast(queries[d], 0u);
        dKey[d][1] += dScore * quadBroadcast(queries[d], 1u);
        dKey[d][2] += dScore * quadBroadcast(queries[d], 2u);
        dKey[d][3] += dScore * quadBroadcast(queries[d], 3u);
        dValue[d][0] += weight * quadBroadcast(outwards[d], 0u);
        dValue[d][1] += weight * quadBroadcast(outwards[d], 1u);
        dValue[d][2] += weight * quadBroadcast(outwards[d], 2u);
        dValue[d][3] += weight * quadBroadcast(outwards[d], 3u);
      }
    }
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    let keys = transpose(dKey[d]) * SCALE;
    let values = transpose(dValue[d]);
    for (var k = 0u; k < 4u; k++) {
      if (row[k] < LENGTH) {
        store(keyAt[k], d, keys[k]);
        store(keyAt[k] + KV_HEADS * HEAD_DIM, d, values[k]);
      }
    }
  }
}
