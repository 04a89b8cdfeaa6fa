// gradient of the output, gate, up: [COUNT] -> dGate, dUp: [COUNT]
const COUNT = 64u; // @shape
// 0: SiLU. 1: tanh-GELU. 2: GELU.
const ACTIVATION = 0u; // @variant
const ACCUMULATE_GATE = 0u; // @variant
const ACCUMULATE_UP = 0u; // @variant

@group(0) @binding(0) var<storage, read> gradient: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read> gate: array<f32, COUNT>;
@group(0) @binding(2) var<storage, read> up: array<f32, COUNT>;
@group(0) @binding(3) var<storage, read_write> dGate: array<f32, COUNT>;
@group(0) @binding(4) var<storage, read_write> dUp: array<f32, COUNT>;

// What x is multiplied by, and that factor's derivative times x.
fn shareAndSlope(x: f32) -> vec2f {
  if (ACTIVATION == 2u) {
    // A polynomial for exp(z^2) erfc(z), to 7e-7 of it.
    let z = min(abs(x) * 0.7071067811865476, 10.0);
    let bell = exp(-z * z);
    let t = 1.0 / (1.0 + 0.4 * z);
    let tail = (((((((0.0512159188 * t - 0.292039537) * t + 0.494425124) * t - 0.184014817) * t + 0.298319757) * t + 0.176962865) * t + 0.22967031) * t + 0.225459952) * t * bell;
    return vec2f(select(1.0 - 0.5 * tail, 0.5 * tail, x < 0.0), x * bell * 0.3989422804014327);
  }
  // 0.5 (1 + tanh(y)) is the sigmoid of 2 y. Far out the slope is 0, and x ^ 3 would make it 0 times infinity.
  let bounded = clamp(x, -1e3, 1e3);
  let y = select(x, 1.5957691216057308 * (bounded + 0.044715 * bounded * bounded * bounded), ACTIVATION == 1u);
  let dy = select(1.0, 1.5957691216057308 * (1.0 + 0.134145 * bounded * bounded), ACTIVATION == 1u);
  let e = exp(-min(abs(y), 80.0));
  let share = select(1.0, e, y < 0.0) / (1.0 + e);
  return vec2f(share, x * dy * e / ((1.0 + e) * (1.0 + e)));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  let x = gate[index];
  let at = shareAndSlope(x);
  var forGate = gradient[index] * up[index] * (at.x + at.y);
  var forUp = gradient[index] * x * at.x;
  if (ACCUMULATE_GATE == 1u) {
    forGate += dGate[index];
  }
  if (ACCUMULATE_UP == 1u) {
    forUp += dUp[index];
  }
  dGate[index] = forGate;
  dUp[index] = forUp;
}
