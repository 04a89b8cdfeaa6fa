// gradient, pre: [COUNT] -> out [COUNT] = gradient * derivative of GELU at pre, by tanh or exact
const COUNT = 64u; // @shape
const EXACT = 0u; // @variant

@group(0) @binding(0) var<storage, read> gradient: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read> pre: array<f32, COUNT>;
@group(0) @binding(2) var<storage, read_write> out: array<f32, COUNT>;

// tanh by a bounded exp: tanh of a large argument is NaN on some adapters.
fn tanhDerivative(x: f32) -> f32 {
  let inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  let e = exp(-2.0 * min(abs(inner), 15.0));
  let t = sign(inner) * (1.0 - e) / (1.0 + e);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x);
}

// The normal distribution's share below x and x times its density; by a polynomial for exp(z^2) erfc(z), to 7e-7 of it.
fn exactDerivative(x: f32) -> f32 {
  let z = min(abs(x) * 0.7071067811865476, 10.0);
  let bell = exp(-z * z);
  let t = 1.0 / (1.0 + 0.4 * z);
  let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * bell;
  return select(1.0 - 0.5 * tail, 0.5 * tail, x < 0.0) + x * bell * 0.3989422804014327;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  let x = pre[index];
  if (EXACT == 1u) {
    out[index] = gradient[index] * exactDerivative(x);
  } else {
    out[index] = gradient[index] * tanhDerivative(x);
  }
}
