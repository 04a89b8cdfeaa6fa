// a, b: form NN [M, K] [K, N]; NT [M, K] [N, K]; TN [K, M] [K, N] -> out [M, N] (+ bias [N], + addend [M, N])
// One invocation makes an 8 x 8 tile in registers, without barriers, from vec4 loads: for CPU adapters.
// N is a multiple of 4; so is K (NN, NT) or M (TN). Tiles that stick out read the last row or column again and store nothing there.
const M = 8u; // @shape
const N = 8u; // @shape
const K = 8u; // @shape
const BIAS_VECTORS = 1u; // @shape
const ADDEND_VECTORS = 1u; // @shape
const PRE_VECTORS = 1u; // @shape
const FORM = 0u; // @variant
const BIAS = 0u; // @variant
const ADDEND = 0u; // @variant
const ACTIVATION = 0u; // @variant
const ACCUMULATE = 0u; // @variant
const N4 = N / 4u;
const K4 = max(1u, K / 4u);
const M4 = max(1u, M / 4u);

@group(0) @binding(0) var<storage, read> a: array<vec4f, (M * K) / 4u>;
@group(0) @binding(1) var<storage, read> b: array<vec4f, (K * N) / 4u>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f, (M * N) / 4u>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f, BIAS_VECTORS>;
// ADDEND 1: added to the result.
@group(0) @binding(4) var<storage, read> addend: array<vec4f, ADDEND_VECTORS>;
// ACTIVATION 1: tanh-GELU. ACTIVATION 2: GELU. The result before the activation is kept here.
@group(0) @binding(5) var<storage, read_write> pre: array<vec4f, PRE_VECTORS>;

// exp of a bounded argument: tanh of a large one is NaN on some adapters.
fn tanh4(x: vec4f) -> vec4f {
  let e = exp(-2.0 * min(abs(x), vec4f(15.0)));
  return sign(x) * (1.0 - e) / (1.0 + e);
}

fn gelu(x: vec4f) -> vec4f {
  return 0.5 * x * (1.0 + tanh4(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// The normal distribution's share below x; by a polynomial for exp(z^2) erfc(z), to 7e-7 of it.
fn normalShare(x: vec4f) -> vec4f {
  let z = min(abs(x) * 0.7071067811865476, vec4f(10.0));
  let t = 1.0 / (1.0 + 0.4 * z);
  let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * exp(-z * z);
  return select(1.0 - 0.5 * tail, 0.5 * tail, x < vec4f(0.0));
}

fn store(row: u32, column: u32, sum: vec4f) {
  if (row >= M || column >= N4) {
    return;
  }
  let at = row * N4 + column;
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
  let n0 = id.x * 2u;
  if (m0 >= M || n0 >= N4) {
    return;
  }
  var c0l = vec4f(0.0); var c0r = vec4f(0.0);
  var c1l = vec4f(0.0); var c1r = vec4f(0.0);
  var c2l = vec4f(0.0); var c2r = vec4f(0.0);
  var c3l = vec4f(0.0); var c3r = vec4f(0.0);
  var c4l = vec4f(0.0); var c4r = vec4f(0.0);
  var c5l = vec4f(0.0); var c5r = vec4f(0.0);
  var c6l = vec4f(0.0); var c6r = vec4f(0.0);
  var c7l = vec4f(0.0); var c7r = vec4f(0.0);
  let left = n0;
  let right = min(n0 + 1u, N4 - 1u);
  if (FORM == 2u) {
    let top = m0 / 4u;
    let bottom = min(top + 1u, M4 - 1u);
    for (var k = 0u; k < K; k++) {
      let t = a[k * M4 + top];
      let u = a[k * M4 + bottom];
      let bl = b[k * N4 + left];
      let br = b[k * N4 + right];
      c0l = fma(vec4f(t.x), bl, c0l); c0r = fma(vec4f(t.x), br, c0r);
      c1l = fma(vec4f(t.y), bl, c1l); c1r = fma(vec4f(t.y), br, c1r);
      c2l = fma(vec4f(t.z), bl, c2l); c2r = fma(vec4f(t.z), br, c2r);
      c3l = fma(vec4f(t.w), bl, c3l); c3r = fma(vec4f(t.w), br, c3r);
      c4l = fma(vec4f(u.x), bl, c4l); c4r = fma(vec4f(u.x), br, c4r);
      c5l = fma(vec4f(u.y), bl, c5l); c5r = fma(vec4f(u.y), br, c5r);
      c6l = fma(vec4f(u.z), bl, c6l); c6r = fma(vec4f(u.z), br, c6r);
      c7l = fma(vec4f(u.w), bl, c7l); c7r = fma(vec4f(u.w), br, c7r);
    }
  } else {
    let r0 = min(m0 + 0u, M - 1u) * K4;
    let r1 = min(m0 + 1u, M - 1u) * K4;
    let r2 = min(m0 + 2u, M - 1u) * K4;
    let r3 = min(m0 + 3u, M - 1u) * K4;
    let r4 = min(m0 + 4u, M - 1u) * K4;
    let r5 = min(m0 + 5u, M - 1u) * K4;
    let r6 = min(m0 + 6u, M - 1u) * K4;
    let r7 = min(m0 + 7u, M - 1u) * K4;
    if (FORM == 0u) {
      for (var k = 0u; k < K4; k++) {
        let a0 = a[r0 + k];
        let a1 = a[r1 + k];
        let a2 = a[r2 + k];
        let a3 = a[r3 + k];
        let a4 = a[r4 + k];
        let a5 = a[r5 + k];
        let a6 = a[r6 + k];
        let a7 = a[r7 + k];
        let bl0 = b[(k * 4u + 0u) * N4 + left];
        let br0 = b[(k * 4u + 0u) * N4 + right];
        c0l = fma(vec4f(a0.x), bl0, c0l); c0r = fma(vec4f(a0.x), br0, c0r);
        c1l = fma(vec4f(a1.x), bl0, c1l); c1r = fma(vec4f(a1.x), br0, c1r);
        c2l = fma(vec4f(a2.x), bl0, c2l); c2r = fma(vec4f(a2.x), br0, c2r);
        c3l = fma(vec4f(a3.x), bl0, c3l); c3r = fma(vec4f(a3.x), br0, c3r);
        c4l = fma(vec4f(a4.x), bl0, c4l); c4r = fma(vec4f(a4.x), br0, c4r);
        c5l = fma(vec4f(a5.x), bl0, c5l); c5r = fma(vec4f(a5.x), br0, c5r);
        c6l = fma(vec4f(a6.x), bl0, c6l); c6r = fma(vec4f(a6.x), br0, c6r);
        c7l = fma(vec4f(a7.x), bl0, c7l); c7r = fma(vec4f(a7.x), br0, c7r);
        let bl1 = b[(k * 4u + 1u) * N4 + left];
        let br1 = b[(k * 4u + 1u) * N4 + right];
        c0l = fma(vec4f(a0.y), bl1, c0l); c0r = fma(vec4f(a0.y), br1, c0r);
        c1l = fma(vec4f(a1.y), bl1, c1l); c1r = fma(vec4f(a1.y), br1, c1r);
        c2l = fma(vec4f(a2.y), bl1, c2l); c2r = fma(vec4f(a2.y), br1, c2r);
        c3l = fma(vec4f(a3.y), bl1, c3l); c3r = fma(vec4f(a3.y), br1, c3r);
        c4l = fma(vec4f(a4.y), bl1, c4l); c4r = fma(vec4f(a4.y), br1, c4r);
        c5l = fma(vec4f(a5.y), bl1, c5l); c5r = fma(vec4f(a5.y), br1, c5r);
        c6l = fma(vec4f(a6.y), bl1, c6l); c6r = fma(vec4f(a6.y), br1, c6r);
        c7l = fma(vec4f(a7.y), bl1, c7l); c7r = fma(vec4f(a7.y), br1, c7r);
        let bl2 = b[(k * 4u + 2u) * N4 + left];
        let br2 = b[(k * 4u + 2u) * N4 + right];
        c0l = fma(vec4f(a0.z), bl2, c0l); c0r = fma(vec4f(a0.z), br2, c0r);
        c1l = fma(vec4f(a1.z), bl2, c1l); c1r = fma(vec4f(a1.z), br2, c1r);
        c2l = fma(vec4f(a2.z), bl2, c2l); c2r = fma(vec4f(a2.z), br2, c2r);
        c3l = fma(vec4f(a3.z), bl2, c3l); c3r = fma(vec4f(a3.z), br2, c3r);
        c4l = fma(vec4f(a4.z), bl2, c4l); c4r = fma(vec4f(a4.z), br2, c4r);
        c5l = fma(vec4f(a5.z), bl2, c5l); c5r = fma(vec4f(a5.z), br2, c5r);
        c6l = fma(vec4f(a6.z), bl2, c6l); c6r = fma(vec4f(a6.z), br2, c6r);
        c7l = fma(vec4f(a7.z), bl2, c7l); c7r = fma(vec4f(a7.z), br2, c7r);
        let bl3 = b[(k * 4u + 3u) * N4 + left];
        let br3 = b[(k * 4u + 3u) * N4 + right];
        c0l = fma(vec4f(a0.w), bl3, c0l); c0r = fma(vec4f(a0.w), br3, c0r);
        c1l = fma(vec4f(a1.w), bl3, c1l); c1r = fma(vec4f(a1.w), br3, c1r);
        c2l = fma(vec4f(a2.w), bl3, c2l); c2r = fma(vec4f(a2.w), br3, c2r);
        c3l = fma(vec4f(a3.w), bl3, c3l); c3r = fma(vec4f(a3.w), br3, c3r);
        c4l = fma(vec4f(a4.w), bl3, c4l); c4r = fma(vec4f(a4.w), br3, c4r);
        c5l = fma(vec4f(a5.w), bl3, c5l); c5r = fma(vec4f(a5.w), br3, c5r);
        c6l = fma(vec4f(a6.w), bl3, c6l); c6r = fma(vec4f(a6.w), br3, c6r);
        c7l = fma(vec4f(a7.w), bl3, c7l); c7r = fma(vec4f(a7.w), br3, c7r);
      }
    } else {
      let s0 = min(n0 * 4u + 0u, N - 1u) * K4;
      let s1 = min(n0 * 4u + 1u, N - 1u) * K4;
      let s2 = min(n0 * 4u + 2u, N - 1u) * K4;
      let s3 = min(n0 * 4u + 3u, N - 1u) * K4;
      let s4 = min(n0 * 4u + 4u, N - 1u) * K4;
      let s5 = min(n0 * 4u + 5u, N - 1u) * K4;
      let s6 = min(n0 * 4u + 6u, N - 1u) * K4;
      let s7 = min(n0 * 4u + 7u, N - 1u) * K4;
      for (var k = 0u; k < K4; k++) {
        let a0 = a[r0 + k];
        let a1 = a[r1 + k];
        let a2 = a[r2 + k];
        let a3 = a[r3 + k];
        let a4 = a[r4 + k];
        let a5 = a[r5 + k];
        let a6 = a[r6 + k];
        let a7 = a[r7 + k];
        let b0 = b[s0 + k];
        let b1 = b[s1 + k];
        let b2 = b[s2 + k];
        let b3 = b[s3 + k];
        let l0 = vec4f(b0.x, b1.x, b2.x, b3.x);
        let l1 = vec4f(b0.y, b1.y, b2.y, b3.y);
        let l2 = vec4f(b0.z, b1.z, b2.z, b3.z);
        let l3 = vec4f(b0.w, b1.w, b2.w, b3.w);
        c0l = fma(vec4f(a0.x), l0, c0l);
        c0l = fma(vec4f(a0.y), l1, c0l);
        c0l = fma(vec4f(a0.z), l2, c0l);
        c0l = fma(vec4f(a0.w), l3, c0l);
        c1l = fma(vec4f(a1.x), l0, c1l);
        c1l = fma(vec4f(a1.y), l1, c1l);
        c1l = fma(vec4f(a1.z), l2, c1l);
        c1l = fma(vec4f(a1.w), l3, c1l);
        c2l = fma(vec4f(a2.x), l0, c2l);
        c2l = fma(vec4f(a2.y), l1, c2l);
        c2l = fma(vec4f(a2.z), l2, c2l);
        c2l = fma(vec4f(a2.w), l3, c2l);
        c3l = fma(vec4f(a3.x), l0, c3l);
        c3l = fma(vec4f(a3.y), l1, c3l);
        c3l = fma(vec4f(a3.z), l2, c3l);
        c3l = fma(vec4f(a3.w), l3, c3l);
        c4l = fma(vec4f(a4.x), l0, c4l);
        c4l = fma(vec4f(a4.y), l1, c4l);
        c4l = fma(vec4f(a4.z), l2, c4l);
        c4l = fma(vec4f(a4.w), l3, c4l);
        c5l = fma(vec4f(a5.x), l0, c5l);
        c5l = fma(vec4f(a5.y), l1, c5l);
        c5l = fma(vec4f(a5.z), l2, c5l);
        c5l = fma(vec4f(a5.w), l3, c5l);
        c6l = fma(vec4f(a6.x), l0, c6l);
        c6l = fma(vec4f(a6.y), l1, c6l);
        c6l = fma(vec4f(a6.z), l2, c6l);
        c6l = fma(vec4f(a6.w), l3, c6l);
        c7l = fma(vec4f(a7.x), l0, c7l);
        c7l = fma(vec4f(a7.y), l1, c7l);
        c7l = fma(vec4f(a7.z), l2, c7l);
        c7l = fma(vec4f(a7.w), l3, c7l);
        let b4 = b[s4 + k];
        let b5 = b[s5 + k];
        let b6 = b[s6 + k];
        let b7 = b[s7 + k];
        let r0 = vec4f(b4.x, b5.x, b6.x, b7.x);
        let r1 = vec4f(b4.y, b5.y, b6.y, b7.y);
        let r2 = vec4f(b4.z, b5.z, b6.z, b7.z);
        let r3 = vec4f(b4.w, b5.w, b6.w, b7.w);
        c0r = fma(vec4f(a0.x), r0, c0r);
        c0r = fma(vec4f(a0.y), r1, c0r);
        c0r = fma(vec4f(a0.z), r2, c0r);
        c0r = fma(vec4f(a0.w), r3, c0r);
        c1r = fma(vec4f(a1.x), r0, c1r);
        c1r = fma(vec4f(a1.y), r1, c1r);
        c1r = fma(vec4f(a1.z), r2, c1r);
        c1r = fma(vec4f(a1.w), r3, c1r);
        c2r = fma(vec4f(a2.x), r0, c2r);
        c2r = fma(vec4f(a2.y), r1, c2r);
        c2r = fma(vec4f(a2.z), r2, c2r);
        c2r = fma(vec4f(a2.w), r3, c2r);
        c3r = fma(vec4f(a3.x), r0, c3r);
        c3r = fma(vec4f(a3.y), r1, c3r);
        c3r = fma(vec4f(a3.z), r2, c3r);
        c3r = fma(vec4f(a3.w), r3, c3r);
        c4r = fma(vec4f(a4.x), r0, c4r);
        c4r = fma(vec4f(a4.y), r1, c4r);
        c4r = fma(vec4f(a4.z), r2, c4r);
        c4r = fma(vec4f(a4.w), r3, c4r);
        c5r = fma(vec4f(a5.x), r0, c5r);
        c5r = fma(vec4f(a5.y), r1, c5r);
        c5r = fma(vec4f(a5.z), r2, c5r);
        c5r = fma(vec4f(a5.w), r3, c5r);
        c6r = fma(vec4f(a6.x), r0, c6r);
        c6r = fma(vec4f(a6.y), r1, c6r);
        c6r = fma(vec4f(a6.z), r2, c6r);
        c6r = fma(vec4f(a6.w), r3, c6r);
        c7r = fma(vec4f(a7.x), r0, c7r);
        c7r = fma(vec4f(a7.y), r1, c7r);
        c7r = fma(vec4f(a7.z), r2, c7r);
        c7r = fma(vec4f(a7.w), r3, c7r);
      }
    }
  }
  store(m0 + 0u, n0, c0l); store(m0 + 0u, n0 + 1u, c0r);
  store(m0 + 1u, n0, c1l); store(m0 + 1u, n0 + 1u, c1r);
  store(m0 + 2u, n0, c2l); store(m0 + 2u, n0 + 1u, c2r);
  store(m0 + 3u, n0, c3l); store(m0 + 3u, n0 + 1u, c3r);
  store(m0 + 4u, n0, c4l); store(m0 + 4u, n0 + 1u, c4r);
  store(m0 + 5u, n0, c5l); store(m0 + 5u, n0 + 1u, c5r);
  store(m0 + 6u, n0, c6l); store(m0 + 6u, n0 + 1u, c6r);
  store(m0 + 7u, n0, c7l); store(m0 + 7u, n0 + 1u, c7r);
}
