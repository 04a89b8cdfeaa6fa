// gate, up: [COUNT] -> out [COUNT] = activation(gate) * up
const COUNT = 64u; // @shape
// 0: SiLU. 1: tanh-GELU. 2: GELU.
const ACTIVATION = 0u; // @variant

@group(0) @binding(0) var<storage, read> gate: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read> up: array<f32, COUNT>;
@group(0) @binding(2) var<storage, read_write> out: array<f32, COUNT>;

// What x is multiplied by: a sigmoid, or the normal distribution's share below x.
fn share(x: f32) -> f32 {
  if (ACTIVATION == 2u) {
    // A polynomial for exp(z^2) erfc(z), to 7e-7 of it.
    let z = min(abs(x) * 0.7071067811865476, 10.0);
    let t = 1.0 / (1.0 + 0.4 * z);
    let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * exp(-z * z);
    return select(1.0 - 0.5 * tail, 0.5 * tail, x < 0.0);
  }
  // 0.5 (1 + tanh(y)) is the sigmoid of 2 y.
  let y = select(x, 1.5957691216057308 * (x + 0.044715 * x * x * x), ACTIVATION == 1u);
  return sigmoid(y);
}

// exp of a bounded argument.
fn sigmoid(y: f32) -> f32 {
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
  let x = gate[index];
  out[index] = x * share(x) * up[index];
}
