// x: [COUNT] -> out [COUNT] = GELU of x, by tanh or exact
const COUNT = 64u; // @shape
const EXACT = 0u; // @variant

@group(0) @binding(0) var<storage, read> x: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read_write> out: array<f32, COUNT>;

// The normal distribution's share below x; by a polynomial for exp(z^2) erfc(z), to 7e-7 of it.
fn exactShare(x: f32) -> f32 {
  let z = min(abs(x) * 0.7071067811865476, 10.0);
  let t = 1.0 / (1.0 + 0.4 * z);
  let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * exp(-z * z);
  return select(1.0 - 0.5 * tail, 0.5 * tail, x < 0.0);
}

// 0.5 (1 + tanh(y / 2)) is the sigmoid of y; by exp of a bounded argument.
fn tanhShare(x: f32) -> f32 {
  let y = 1.5957691216057308 * (x + 0.044715 * x * x * x);
  let e = exp(-min(abs(y), 80.0));
  return select(1.0, e, y < 0.0) / (1.0 + e);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  let value = x[index];
  if (EXACT == 1u) {
    out[index] = value * exactShare(value);
  } else {
    out[index] = value * tanhShare(value);
  }
}
