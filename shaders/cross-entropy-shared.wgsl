// logits: [ROWS, VOCABULARY], targets: [ROWS], IGNORED = no target -> losses [ROWS] in nats
// With GRADIENT the logits become the gradient of the loss sum, in place. A workgroup of 64 for each row: for GPUs.
const ROWS = 8u; // @shape
const VOCABULARY = 8u; // @shape
const GRADIENT = 1u; // @variant
// Share of the target that is spread over the whole vocabulary.
const SMOOTHING = 0.0; // @variant
const IGNORED = -100;
const WIDTH = 64u;

@group(0) @binding(0) var<storage, read> targets: array<i32, ROWS>;
@group(0) @binding(1) var<storage, read_write> logits: array<f32, ROWS * VOCABULARY>;
@group(0) @binding(2) var<storage, read_write> losses: array<f32, ROWS>;

var<workgroup> partial: array<f32, WIDTH>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
  // A grid beyond 65,535 workgroups is folded into rows; the last row of workgroups may have no logits left.
  let row = min(group.y * 65535u + group.x, ROWS - 1u);
  let mine = group.y * 65535u + group.x < ROWS;
  let start = row * VOCABULARY;
  let expected = targets[row];
  let counts = expected != IGNORED;
  var largest = -3.4e38;
  for (var column = index; column < VOCABULARY; column += WIDTH) {
    largest = max(largest, logits[start + column]);
  }
  partial[index] = largest;
  workgroupBarrier();
  for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
    if (index < half) {
      partial[index] = max(partial[index], partial[index + half]);
    }
    workgroupBarrier();
  }
  largest = partial[0];
  workgroupBarrier();
  var sum = 0.0;
  for (var column = index; column < VOCABULARY; column += WIDTH) {
    sum += exp(logits[start + column] - largest);
  }
  partial[index] = sum;
  workgroupBarrier();
  for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
    if (index < half) {
      partial[index] += partial[index + half];
    }
    workgroupBarrier();
  }
  sum = partial[0];
  var below = 0.0;
  if (SMOOTHING > 0.0) {
    workgroupBarrier();
    for (var column = index; column < VOCABULARY; column += WIDTH) {
      below += logits[start + column] - largest;
    }
    partial[index] = below;
    workgroupBarrier();
    for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
      if (index < half) {
        partial[index] += partial[index + half];
      }
      workgroupBarrier();
    }
    below = partial[0];
  }
  if (mine && index == 0u) {
    losses[row] = 0.0;
    if (counts) {
      losses[row] = log(sum) + largest - logits[start + u32(expected)];
      if (SMOOTHING > 0.0) {
        losses[row] = log(sum) - (1.0 - SMOOTHING) * (logits[start + u32(expected)] - largest) - SMOOTHING * below / f32(VOCABULARY);
      }
    }
  }
  // The loss above reads a logit that another invocation overwrites below.
  storageBarrier();
  if (GRADIENT == 1u && mine) {
    for (var column = index; column < VOCABULARY; column += WIDTH) {
      var value = exp(logits[start + column] - largest) / sum - SMOOTHING / f32(VOCABULARY);
      if (i32(column) == expected) {
        value -= 1.0 - SMOOTHING;
      }
      logits[start + column] = select(0.0, value, counts);
    }
  }
}
