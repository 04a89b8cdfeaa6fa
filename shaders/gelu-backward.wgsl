// gradient, pre: [COUNT] -> out [COUNT] = gradient * derivative of tanh-GELU at pre
const COUNT = 64u; // @shape

@group(0) @binding(0) var<storage, read> gradient: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read> pre: array<f32, COUNT>;
@group(0) @binding(2) var<storage, read_write> out: array<f32, COUNT>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  let x = pre[index];
  // tanh by a bounded exp: tanh of a large argument is NaN on some adapters.
  let inner = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  let e = exp(-2.0 * min(abs(inner), 15.0));
  let t = sign(inner) * (1.0 - e) / (1.0 + e);
  let derivative = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 0.134145 * x * x);
  out[index] = gradient[index] * derivative;
}
