// qkv, out, lse as in the forward, gradient: [BATCH * LENGTH, HEADS * HEAD_DIM] -> the queries' part of dqkv, delta [BATCH, HEADS, LENGTH]
// One invocation for each query and head. delta = gradient . out is kept for the keys' and values' pass. Heads are 4 D4 wide.
const BATCH = 1u; // @shape
const LENGTH = 8u; // @shape
const HEADS = 2u; // @shape
const KV_HEADS = 2u; // @shape
const D4 = 1u; // @shape
const SCALE = 1.0; // @variant
const ACCUMULATE = 0u; // @variant
const STRIDE = (HEADS + 2u * KV_HEADS) * D4;
const ROWS = BATCH * LENGTH;
const SHARE = HEADS / KV_HEADS;

@group(0) @binding(0) var<storage, read> qkv: array<vec4f, ROWS * STRIDE>;
@group(0) @binding(1) var<storage, read> out: array<vec4f, ROWS * HEADS * D4>;
@group(0) @binding(2) var<storage, read> gradient: array<vec4f, ROWS * HEADS * D4>;
@group(0) @binding(3) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4f, ROWS * STRIDE>;
@group(0) @binding(5) var<storage, read_write> delta: array<f32, BATCH * HEADS * LENGTH>;

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
  let queryAt = (first + i) * STRIDE + head * D4;
  let outAt = ((first + i) * HEADS + head) * D4;
  var query: array<vec4f, D4>;
  var outward: array<vec4f, D4>;
  var sum: array<vec4f, D4>;
  var product = 0.0;
  for (var d = 0u; d < D4; d++) { // @unroll
    query[d] = qkv[queryAt + d] * SCALE;
    outward[d] = gradient[outAt + d];
    product += dot(outward[d], out[outAt + d]);
    sum[d] = vec4f(0.0);
  }
  let normaliser = lse[index];
  var keyAt = first * STRIDE + (HEADS + head / SHARE) * D4;
  for (var j = 0u; j <= i; j++) {
    var score = 0.0;
    var agreement = 0.0;
    let valueAt = keyAt + KV_HEADS * D4;
    for (var d = 0u; d < D4; d++) { // @unroll
      score += dot(query[d], qkv[keyAt + d]);
      agreement += dot(outward[d], qkv[valueAt + d]);
    }
    let dScore = exp(score - normaliser) * (agreement - product) * SCALE;
    for (var d = 0u; d < D4; d++) { // @unroll
      sum[d] += dScore * qkv[keyAt + d];
    }
    keyAt += STRIDE;
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    var value = sum[d];
    if (ACCUMULATE == 1u) {
      value += dqkv[queryAt + d];
    }
    dqkv[queryAt + d] = value;
  }
  delta[index] = product;
}
