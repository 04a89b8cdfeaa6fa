enable subgroups;
// qkv, out, lse as in the forward, gradient: [BATCH * LENGTH, HEADS * HEAD_DIM] -> the queries' part of dqkv, delta [BATCH, HEADS, LENGTH]
// delta = gradient . out is kept for the keys' and values' pass. The forward's design: a subgroup of four has 16 queries of a head.
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
@group(0) @binding(1) var<storage, read> out: array<f32, BATCH * LENGTH * HEADS * HEAD_DIM>;
@group(0) @binding(2) var<storage, read> gradient: array<f32, BATCH * LENGTH * HEADS * HEAD_DIM>;
@group(0) @binding(3) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<f32, BATCH * LENGTH * STRIDE>;
@group(0) @binding(5) var<storage, read_write> delta: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(6) var<storage, read> bounds: array<vec2u, BOUNDS>;

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

fn outQuarter(at: vec4u, d: u32, lane: u32) -> vec4f {
  if (4u * d + 3u >= HEAD_DIM && 4u * d + lane >= HEAD_DIM) {
    return vec4f(0.0);
  }
  let place = at + (4u * d + lane);
  return vec4f(out[place.x], out[place.y], out[place.z], out[place.w]);
}

// Elements 4 d to 4 d + 3 of four rows: a column for each element.
fn columns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(quarter(at, d, 0u), quarter(at, d, 1u), quarter(at, d, 2u), quarter(at, d, 3u));
}

fn gradientColumns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(gradientQuarter(at, d, 0u), gradientQuarter(at, d, 1u), gradientQuarter(at, d, 2u), gradientQuarter(at, d, 3u));
}

fn outColumns(at: vec4u, d: u32) -> mat4x4f {
  return mat4x4f(outQuarter(at, d, 0u), outQuarter(at, d, 1u), outQuarter(at, d, 2u), outQuarter(at, d, 3u));
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
  let inside = min(row, vec4u(LENGTH - 1u));
  let queryAt = (start + inside) * STRIDE + head * HEAD_DIM;
  let outAt = (start + inside) * (HEADS * HEAD_DIM) + head * HEAD_DIM;
  let statsAt = start * HEADS + head * LENGTH + inside;
  var query: array<mat4x4f, D4>;
  var outward: array<mat4x4f, D4>;
  var sum: array<mat4x4f, D4>;
  var keys: array<vec4f, D4>;
  var product = vec4f(0.0);
  for (var d = 0u; d < D4; d++) { // @unroll
    query[d] = columns(queryAt, d) * SCALE;
    outward[d] = gradientColumns(outAt, d);
    let mixed = outColumns(outAt, d);
    product += outward[d][0] * mixed[0] + outward[d][1] * mixed[1] + outward[d][2] * mixed[2] + outward[d][3] * mixed[3];
    sum[d] = mat4x4f();
  }
  let normaliser = vec4f(lse[statsAt.x], lse[statsAt.y], lse[statsAt.z], lse[statsAt.w]);
  let begin = vec4u(startOf(start + inside.x), startOf(start + inside.y), startOf(start + inside.z), startOf(start + inside.w));
  for (var j = startOf(start + first); j < min(first + 16u, LENGTH); j += 4u) {
    let key = j + vec4u(0u, 1u, 2u, 3u);
    let keyAt = (start + min(key, vec4u(LENGTH - 1u))) * STRIDE + (HEADS + head * KV_HEADS / HEADS) * HEAD_DIM;
    var score = mat4x4f();
    var agreement = mat4x4f();
    for (var d = 0u; d < D4; d++) { // @unroll
      keys[d] = quarter(keyAt, d, lane);
      score += query[d] * together(keys[d]);
      agreement += outward[d] * together(quarter(keyAt + KV_HEADS * HEAD_DIM, d, lane));
    }
    var dScore: mat4x4f;
    dScore[0] = select(vec4f(0.0), exp(score[0] - normaliser), sees(row, key.x, begin)) * (agreement[0] - product);
    dScore[1] = select(vec4f(0.0), exp(score[1] - normaliser), sees(row, key.y, begin)) * (agreement[1] - product);
    dScore[2] = select(vec4f(0.0), exp(score[2] - normaliser), sees(row, key.z, begin)) * (agreement[2] - product);
    dScore[3] = select(vec4f(0.0), exp(score[3] - normaliser), sees(row, key.w, begin)) * (agreement[3] - product);
    for (var d = 0u; d < D4; d++) { // @unroll
      sum[d][0] += dScore * quadBroadcast(keys[d], 0u);
      sum[d][1] += dScore * quadBroadcast(keys[d], 1u);
      sum[d][2] += dScore * quadBroadcast(keys[d], 2u);
      sum[d][3] += dScore * quadBroadcast(keys[d], 3u);
    }
  }
  for (var q = 0u; q < 4u; q++) {
    if (row[q] < LENGTH) {
      delta[statsAt[q]] = product[q];
    }
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    let values = transpose(sum[d]) * SCALE;
    for (var q = 0u; q < 4u; q++) {
      if (row[q] < LENGTH) {
        store(queryAt[q], d, values[q]);
      }
    }
  }
}
