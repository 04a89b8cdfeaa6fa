// qkv, lse, delta, gradient as in the queries' pass -> the keys' and values' part of dqkv
// One invocation for each key and KV head: it adds over the queries behind it and the heads that share it. Heads are 4 D4 wide.
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
@group(0) @binding(1) var<storage, read> gradient: array<vec4f, ROWS * HEADS * D4>;
@group(0) @binding(2) var<storage, read> lse: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(3) var<storage, read> delta: array<f32, BATCH * HEADS * LENGTH>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4f, ROWS * STRIDE>;

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
  let keyAt = (first + j) * STRIDE + (HEADS + kvHead) * D4;
  let valueAt = keyAt + KV_HEADS * D4;
  var key: array<vec4f, D4>;
  var value: array<vec4f, D4>;
  var dKey: array<vec4f, D4>;
  var dValue: array<vec4f, D4>;
  for (var d = 0u; d < D4; d++) { // @unroll
    key[d] = qkv[keyAt + d] * SCALE;
    value[d] = qkv[valueAt + d];
    dKey[d] = vec4f(0.0);
    dValue[d] = vec4f(0.0);
  }
  for (var head = kvHead * SHARE; head < (kvHead + 1u) * SHARE; head++) {
    // From a common start, so that neighbours, whose keys are neighbours, load the same query together.
    for (var i = j - j % 4u; i < LENGTH; i++) {
      let queryAt = (first + i) * STRIDE + head * D4;
      let outAt = ((first + i) * HEADS + head) * D4;
      let row = (batch * HEADS + head) * LENGTH + i;
      var score = 0.0;
      var agreement = 0.0;
      for (var d = 0u; d < D4; d++) { // @unroll
        score += dot(qkv[queryAt + d], key[d]);
        agreement += dot(gradient[outAt + d], value[d]);
      }
      let weight = select(0.0, exp(score - lse[row]), i >= j);
      let dScore = weight * (agreement - delta[row]) * SCALE;
      for (var d = 0u; d < D4; d++) { // @unroll
        dKey[d] += dScore * qkv[queryAt + d];
        dValue[d] += weight * gradient[outAt + d];
      }
    }
  }
  for (var d = 0u; d < D4; d++) { // @unroll
    if (ACCUMULATE == 1u) {
      dKey[d] += dqkv[keyAt + d];
      dValue[d] += dqkv[valueAt + d];
    }
    dqkv[keyAt + d] = dKey[d];
    dqkv[valueAt + d] = dValue[d];
  }
}
