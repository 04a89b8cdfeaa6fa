// a, b: form NN [M, K] [K, N]; NT [M, K] [N, K]; TN [K, M] [K, N] -> out [M, N] (+ bias [N], + addend [M, N])
// A workgroup of 64 makes a 32 x 32 tile through workgroup memory, 4 x 4 for each invocation: for GPUs. Any sizes.
const M = 8u; // @shape
const N = 8u; // @shape
const K = 8u; // @shape
const BIAS_ELEMENTS = 1u; // @shape
const ADDEND_ELEMENTS = 1u; // @shape
const PRE_ELEMENTS = 1u; // @shape
const FORM = 0u; // @variant
const BIAS = 0u; // @variant
const ADDEND = 0u; // @variant
const ACTIVATION = 0u; // @variant
const ACCUMULATE = 0u; // @variant

@group(0) @binding(0) var<storage, read> a: array<f32, M * K>;
@group(0) @binding(1) var<storage, read> b: array<f32, K * N>;
@group(0) @binding(2) var<storage, read_write> out: array<f32, M * N>;
@group(0) @binding(3) var<storage, read> bias: array<f32, BIAS_ELEMENTS>;
// ADDEND 1: added to the result.
@group(0) @binding(4) var<storage, read> addend: array<f32, ADDEND_ELEMENTS>;
// ACTIVATION 1: tanh-GELU. ACTIVATION 2: GELU. The result before the activation is kept here.
@group(0) @binding(5) var<storage, read_write> pre: array<f32, PRE_ELEMENTS>;

// exp of a bounded argument: tanh of a large one is NaN on some adapters.
fn boundedTanh(x: f32) -> f32 {
  let e = exp(-2.0 * min(abs(x), 15.0));
  return sign(x) * (1.0 - e) / (1.0 + e);
}

fn gelu(x: f32) -> f32 {
  return 0.5 * x * (1.0 + boundedTanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// The normal distribution's share below x; by a polynomial for exp(z^2) erfc(z), to 7e-7 of it.
fn normalShare(x: f32) -> f32 {
  let z = min(abs(x) * 0.7071067811865476, 10.0);
  let t = 1.0 / (1.0 + 0.4 * z);
  let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * exp(-z * z);
  return select(1.0 - 0.5 * tail, 0.5 * tail, x < 0.0);
}

fn store(row: u32, column: u32, sum: f32) {
  if (row >= M || column >= N) {
    return;
  }
  let at = row * N + column;
  var value = sum;
  if (BIAS == 1u) {
    value += bias[column];
  }
  if (ACTIVATION == 1u) {
    pre[at] = value;
    value = gelu(value);
  }
  if (ACTIVATION == 2u) {
    pre[at] = value;
    value *= normalShare(value);
  }
  if (ADDEND == 1u) {
    value += addend[at];
  }
  if (ACCUMULATE == 1u) {
    value += out[at];
  }
  out[at] = value;
}

const TILE = 32u;
const DEPTH = 16u;
// One more column than the tile, so that rows fall into different banks.
var<workgroup> tileA: array<array<f32, 33>, 16>;
var<workgroup> tileB: array<array<f32, 33>, 16>;

fn readA(row: u32, k: u32) -> f32 {
  if (row >= M || k >= K) {
    return 0.0;
  }
  return a[select(row * K + k, k * M + row, FORM == 2u)];
}

fn readB(k: u32, column: u32) -> f32 {
  if (column >= N || k >= K) {
    return 0.0;
  }
  return b[select(k * N + column, column * K + k, FORM == 1u)];
}

@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) index: u32) {
  let m0 = group.y * TILE;
  let n0 = group.x * TILE;
  var sums: array<vec4f, 4>;
  for (var k0 = 0u; k0 < K; k0 += DEPTH) {
    // 512 values of each operand, 8 for each invocation; neighbours read neighbours in memory.
    for (var part = 0u; part < 8u; part++) {
      let flat = part * 64u + index;
      let alongK = flat % DEPTH;
      let acrossK = flat / DEPTH;
      let along = flat % TILE;
      let depth = flat / TILE;
      if (FORM == 2u) {
        tileA[depth][along] = readA(m0 + along, k0 + depth);
      } else {
        tileA[alongK][acrossK] = readA(m0 + acrossK, k0 + alongK);
      }
      if (FORM == 1u) {
        tileB[alongK][acrossK] = readB(k0 + alongK, n0 + acrossK);
      } else {
        tileB[depth][along] = readB(k0 + depth, n0 + along);
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let at = local.x * 4u;
      let right = vec4f(tileB[k][at], tileB[k][at + 1u], tileB[k][at + 2u], tileB[k][at + 3u]);
      for (var r = 0u; r < 4u; r++) {
        sums[r] = fma(vec4f(tileA[k][local.y * 4u + r]), right, sums[r]);
      }
    }
    workgroupBarrier();
  }
  for (var r = 0u; r < 4u; r++) {
    for (var c = 0u; c < 4u; c++) {
      store(m0 + local.y * 4u + r, n0 + local.x * 4u + c, sums[r][c]);
    }
  }
}
