// x: [COUNT] -> out [COUNT] = or += FACTOR * x
const COUNT = 64u; // @shape
const FACTOR = 1.0; // @shape
const ACCUMULATE = 0u; // @variant

@group(0) @binding(0) var<storage, read> x: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read_write> out: array<f32, COUNT>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  let value = FACTOR * x[index];
  out[index] = select(value, out[index] + value, ACCUMULATE == 1u);
}
