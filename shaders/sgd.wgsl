// values: [4 * VECTORS] updated; gradients: [4 * VECTORS]; decays: [BLOCKS] 1 or 0 for each 64 elements; settings: [4]
const VECTORS = 64u; // @shape
const BLOCKS = 4u; // @shape

@group(0) @binding(0) var<storage, read_write> values: array<vec4f, VECTORS>;
@group(0) @binding(1) var<storage, read> gradients: array<vec4f, VECTORS>;
@group(0) @binding(2) var<storage, read> decays: array<f32, BLOCKS>;
// gradient factor, weight decay, momentum (unused), learning rate
@group(0) @binding(3) var<storage, read> settings: array<vec4f, 1>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let index = id.x;
  if (index >= VECTORS) {
    return;
  }
  let rates = settings[0];
  let value = values[index];
  let gradient = gradients[index] * rates.x + value * (rates.y * decays[index / 16u]);
  values[index] = value - rates.w * gradient;
}
