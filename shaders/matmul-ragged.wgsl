// a, b: form NN [M, K] [K, N]; NT [M, K] [N, K]; TN [K, M] [K, N] -> out [M, N] (+ bias [N], + addend [M, N])
// One invocation makes an 8 x 4 tile in registers from scalar loads, without barriers: for sizes that vec4 loads do not fit.
// Tiles that stick out read the last row or column again and store nothing there.
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

@compute @workgroup_size(8, 4)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let m0 = id.y * 8u;
  let n0 = id.x * 4u;
  if (m0 >= M || n0 >= N) {
    return;
  }
  // Strides of one step along k, and where each row and column of the tile starts.
  let strideA = select(1u, M, FORM == 2u);
  let strideB = select(N, 1u, FORM == 1u);
  let rowStride = select(K, 1u, FORM == 2u);
  let columnStride = select(1u, K, FORM == 1u);
  let p0 = min(m0 + 0u, M - 1u) * rowStride;
  let p1 = min(m0 + 1u, M - 1u) * rowStride;
  let p2 = min(m0 + 2u, M - 1u) * rowStride;
  let p3 = min(m0 + 3u, M - 1u) * rowStride;
  let p4 = min(m0 + 4u, M - 1u) * rowStride;
  let p5 = min(m0 + 5u, M - 1u) * rowStride;
  let p6 = min(m0 + 6u, M - 1u) * rowStride;
  let p7 = min(m0 + 7u, M - 1u) * rowStride;
  let q0 = min(n0 + 0u, N - 1u) * columnStride;
  let q1 = min(n0 + 1u, N - 1u) * columnStride;
  let q2 = min(n0 + 2u, N - 1u) * columnStride;
  let q3 = min(n0 + 3u, N - 1u) * columnStride;
  var c00 = 0.0; var c01 = 0.0; var c02 = 0.0; var c03 = 0.0;
  var c10 = 0.0; var c11 = 0.0; var c12 = 0.0; var c13 = 0.0;
  var c20 = 0.0; var c21 = 0.0; var c22 = 0.0; var c23 = 0.0;
  var c30 = 0.0; var c31 = 0.0; var c32 = 0.0; var c33 = 0.0;
  var c40 = 0.0; var c41 = 0.0; var c42 = 0.0; var c43 = 0.0;
  var c50 = 0.0; var c51 = 0.0; var c52 = 0.0; var c53 = 0.0;
  var c60 = 0.0; var c61 = 0.0; var c62 = 0.0; var c63 = 0.0;
  var c70 = 0.0; var c71 = 0.0; var c72 = 0.0; var c73 = 0.0;
  for (var k = 0u; k < K; k++) {
    let ka = k * strideA;
    let kb = k * strideB;
    let b0 = b[q0 + kb];
    let b1 = b[q1 + kb];
    let b2 = b[q2 + kb];
    let b3 = b[q3 + kb];
    let a0 = a[p0 + ka];
    c00 = fma(a0, b0, c00); c01 = fma(a0, b1, c01); c02 = fma(a0, b2, c02); c03 = fma(a0, b3, c03);
    let a1 = a[p1 + ka];
    c10 = fma(a1, b0, c10); c11 = fma(a1, b1, c11); c12 = fma(a1, b2, c12); c13 = fma(a1, b3, c13);
    let a2 = a[p2 + ka];
    c20 = fma(a2, b0, c20); c21 = fma(a2, b1, c21); c22 = fma(a2, b2, c22); c23 = fma(a2, b3, c23);
    let a3 = a[p3 + ka];
    c30 = fma(a3, b0, c30); c31 = fma(a3, b1, c31); c32 = fma(a3, b2, c32); c33 = fma(a3, b3, c33);
    let a4 = a[p4 + ka];
    c40 = fma(a4, b0, c40); c41 = fma(a4, b1, c41); c42 = fma(a4, b2, c42); c43 = fma(a4, b3, c43);
    let a5 = a[p5 + ka];
    c50 = fma(a5, b0, c50); c51 = fma(a5, b1, c51); c52 = fma(a5, b2, c52); c53 = fma(a5, b3, c53);
    let a6 = a[p6 + ka];
    c60 = fma(a6, b0, c60); c61 = fma(a6, b1, c61); c62 = fma(a6, b2, c62); c63 = fma(a6, b3, c63);
    let a7 = a[p7 + ka];
    c70 = fma(a7, b0, c70); c71 = fma(a7, b1, c71); c72 = fma(a7, b2, c72); c73 = fma(a7, b3, c73);
  }
  store(m0 + 0u, n0 + 0u, c00); store(m0 + 0u, n0 + 1u, c01); store(m0 + 0u, n0 + 2u, c02); store(m0 + 0u, n0 + 3u, c03);
  store(m0 + 1u, n0 + 0u, c10); store(m0 + 1u, n0 + 1u, c11); store(m0 + 1u, n0 + 2u, c12); store(m0 + 1u, n0 + 3u, c13);
  store(m0 + 2u, n0 + 0u, c20); store(m0 + 2u, n0 + 1u, c21); store(m0 + 2u, n0 + 2u, c22); store(m0 + 2u, n0 + 3u, c23);
  store(m0 + 3u, n0 + 0u, c30); store(m0 + 3u, n0 + 1u, c31); store(m0 + 3u, n0 + 2u, c32); store(m0 + 3u, n0 + 3u, c33);
  store(m0 + 4u, n0 + 0u, c40); store(m0 + 4u, n0 + 1u, c41); store(m0 + 4u, n0 + 2u, c42); store(m0 + 4u, n0 + 3u, c43);
  store(m0 + 5u, n0 + 0u, c50); store(m0 + 5u, n0 + 1u, c51); store(m0 + 5u, n0 + 2u, c52); store(m0 + 5u, n0 + 3u, c53);
  store(m0 + 6u, n0 + 0u, c60); store(m0 + 6u, n0 + 1u, c61); store(m0 + 6u, n0 + 2u, c62); store(m0 + 6u, n0 + 3u, c63);
  store(m0 + 7u, n0 + 0u, c70); store(m0 + 7u, n0 + 1u, c71); store(m0 + 7u, n0 + 2u, c72); store(m0 + 7u, n0 + 3u, c73);
}
