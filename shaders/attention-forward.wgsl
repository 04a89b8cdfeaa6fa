// qkv: [BATCH * LENGTH, (HEADS + 2 KV_HEADS) * HEAD_DIM] -> out [BATCH * LENGTH, HEADS * HEAD_DIM], lse [BATCH, HEADS, LENGTH]
// Causal attention with online softmax; one invocation for each query and head, no barriers. Heads are 4 D4 wide.
const BATCH = 1u; // @shape
const LENGTH = 8u; // @shape
const HEADS = 2u; // @shape
const KV_HEADS = 2u; // @shape
const D4 = 1u; // @shape
const SCALE = 1.0; // @variant
const STRIDE = (HEADS + 2u * KV_HEADS) * D4;
const ROWS = BATCH * LENGTH;
const SHARE = HEADS / KV_HEADS;

@group(0) @binding(0) var<storage, read> qkv: array<vec4f, ROWS * STRIDE>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f, ROWS * HEADS * D4>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32, BATCH * HEADS * LENGTH>;

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
  var query: array<vec4f, D4>;
  var sum: array<vec4f, D4>;
  for (var d = 0u; d < D4; d++) { // @unroll
    query[d] = qkv[queryAt + d] * SCALE;
    sum[d] = vec4f(0.0);
  }
  var largest = -1e30;
  var total = 0.0;
  var keyAt = first * STRIDE + (HEADS + head / SHARE) * D4;
  for (var j = 0u; j <= i; j++) {
    var score = 0.0;
    for (var d = 0u; d < D4; d++) { // @unroll
      score += dot(query[d], qkv[keyAt + d]);
    }
    if (score > largest) {
      let shrink = exp(largest - score);
      total *= shrink;
      for (var d = 0u; d < D4; d++) { // @unroll
        sum[d] *= shrink;
      }
      largest = score;
    }
    let weight = exp(score - largest);
    total += weight;
    let valueAt = keyAt + KV_HEADS * D4;
    for (var d = 0u; d < D4; d++) { // @unroll
      sum[d] += weight * qkv[valueAt + d];
    }
    keyAt += STRIDE;
  }
  let outAt = ((first + i) * HEADS + head) * D4;
  for (var d = 0u; d < D4; d++) { // @unroll
    out[outAt + d] = sum[d] / total;
  }
  lse[index] = largest + log(total);
}
