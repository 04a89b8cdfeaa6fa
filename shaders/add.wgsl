// out: [COUNT] += x [COUNT]
const COUNT = 64u; // @shape

@group(0) @binding(0) var<storage, read> x: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read_write> out: array<f32, COUNT>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // A grid beyond 65,535 workgroups is folded into rows.
  let index = id.y * (65535u * 64u) + id.x;
  if (index >= COUNT) {
    return;
  }
  out[index] += x[index];
}
