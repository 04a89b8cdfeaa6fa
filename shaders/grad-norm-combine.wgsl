// partials: [COUNT] of (scaled sum of squares, exponent) as in grad-norm.wgsl -> combined: [ceil(COUNT / 64)] of the same
const COUNT = 64u; // @shape
const COMBINED = 1u; // @shape

@group(0) @binding(0) var<storage, read> partials: array<vec2u, COUNT>;
@group(0) @binding(1) var<storage, read_write> combined: array<vec2u, COMBINED>;

fn partial_at(index: u32) -> vec2u {
  if (index >= COUNT) {
    return vec2u(0u);
  }
  return partials[index];
}

// The sum in units of 2^exponent; one that is too small to show there becomes 0.
fn rescaled(partial: vec2u, exponent: u32) -> f32 {
  let shift = min(2u * (exponent - partial.y), 127u);
  return bitcast<f32>(partial.x) * bitcast<f32>((127u - shift) << 23u);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= COMBINED) {
    return;
  }
  let first = id.x * 64u;
  var exponent = 0u;
  for (var step = 0u; step < 64u; step++) {
    exponent = max(exponent, partial_at(first + step).y);
  }
  var sum = 0.0;
  for (var step = 0u; step < 64u; step += 8u) {
    let start = first + step;
    let a = rescaled(partial_at(start), exponent) + rescaled(partial_at(start + 1u), exponent);
    let b = rescaled(partial_at(start + 2u), exponent) + rescaled(partial_at(start + 3u), exponent);
    let c = rescaled(partial_at(start + 4u), exponent) + rescaled(partial_at(start + 5u), exponent);
    let d = rescaled(partial_at(start + 6u), exponent) + rescaled(partial_at(start + 7u), exponent);
    sum += (a + b) + (c + d);
  }
  combined[id.x] = vec2u(bitcast<u32>(sum), exponent);
}
