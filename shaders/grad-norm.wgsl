// gradients: [4 * VECTORS] -> partials: [PARTIALS] of (sum of squares of g / 2^e as f32 bits, e + 127 or 255 when something is not finite)
const VECTORS = 64u; // @shape
const PARTIALS = 64u; // @shape

@group(0) @binding(0) var<storage, read> gradients: array<vec4u, VECTORS>;
@group(0) @binding(1) var<storage, read_write> partials: array<vec2u, PARTIALS>;

fn bits_at(index: u32) -> vec4u {
  if (index >= VECTORS) {
    return vec4u(0u);
  }
  return gradients[index] & vec4u(0x7fffffffu);
}

// Each invocation sums 64 elements. Their largest power of two is taken out first, so that no square overflows or vanishes.
// Integer comparisons find it: those of floats may be compiled as if NaN did not exist.
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let first = group.x * 1024u + local.x;
  var largest = vec4u(0u);
  for (var step = 0u; step < 16u; step++) {
    largest = max(largest, bits_at(first + step * 64u));
  }
  let top = max(max(largest.x, largest.y), max(largest.z, largest.w)) >> 23u;
  let exponent = clamp(top, 1u, 253u);
  let scale = bitcast<f32>((254u - exponent) << 23u);
  var sums = vec4f(0.0);
  for (var quarter = 0u; quarter < 4u; quarter++) {
    let start = first + quarter * 256u;
    let a = bitcast<vec4f>(bits_at(start)) * scale;
    let b = bitcast<vec4f>(bits_at(start + 64u)) * scale;
    let c = bitcast<vec4f>(bits_at(start + 128u)) * scale;
    let d = bitcast<vec4f>(bits_at(start + 192u)) * scale;
    sums += (a * a + b * b) + (c * c + d * d);
  }
  let sum = (sums.x + sums.y) + (sums.z + sums.w);
  partials[group.x * 64u + local.x] = vec2u(bitcast<u32>(sum), select(exponent, 255u, top == 255u));
}
