// values, firsts, seconds: [4 * VECTORS] updated; gradients: [4 * VECTORS]; decays: [BLOCKS] 1 or 0 for each 64 elements; settings: [12]
const VECTORS = 64u; // @shape
const BLOCKS = 4u; // @shape

@group(0) @binding(0) var<storage, read_write> values: array<vec4f, VECTORS>;
@group(0) @binding(1) var<storage, read_write> firsts: array<vec4f, VECTORS>;
@group(0) @binding(2) var<storage, read_write> seconds: array<vec4f, VECTORS>;
@group(0) @binding(3) var<storage, read> gradients: array<vec4f, VECTORS>;
@group(0) @binding(4) var<storage, read> decays: array<f32, BLOCKS>;
// gradient factor, learning rate * weight decay, beta1, 1 - beta1, | beta2, 1 - beta2, step size, 1 / sqrt(1 - beta2^t), | epsilon
@group(0) @binding(5) var<storage, read> settings: array<vec4f, 3>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let index = id.x;
  if (index >= VECTORS) {
    return;
  }
  let rates = settings[0];
  let second = settings[1];
  let gradient = gradients[index] * rates.x;
  let m = firsts[index] * rates.z + gradient * rates.w;
  let v = seconds[index] * second.x + gradient * gradient * second.y;
  let kept = values[index] * (1.0 - rates.y * decays[index / 16u]);
  firsts[index] = m;
  seconds[index] = v;
  values[index] = kept - second.z * m / (sqrt(v) * second.w + settings[2].x);
}
