// logits: [ROWS, VOCABULARY], targets: [ROWS], IGNORED = no target -> losses [ROWS] in nats
// With GRADIENT the logits become the gradient of the loss sum, in place. One invocation for each row: for CPU adapters.
const ROWS = 8u; // @shape
const VOCABULARY = 8u; // @shape
const GRADIENT = 1u; // @variant
// Share of the target that is spread over the whole vocabulary.
const SMOOTHING = 0.0; // @variant
const IGNORED = -100;

@group(0) @binding(0) var<storage, read> targets: array<i32, ROWS>;
@group(0) @binding(1) var<storage, read_write> logits: array<f32, ROWS * VOCABULARY>;
@group(0) @binding(2) var<storage, read_write> losses: array<f32, ROWS>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= ROWS) {
    return;
  }
  let start = row * VOCABULARY;
  let expected = targets[row];
  if (expected == IGNORED) {
    losses[row] = 0.0;
    if (GRADIENT == 1u) {
      for (var column = 0u; column < VOCABULARY; column++) {
        logits[start + column] = 0.0;
      }
    }
    return;
  }
  var largest = logits[start];
  for (var column = 1u; column < VOCABULARY; column++) {
    largest = max(largest, logits[start + column]);
  }
  var sum = 0.0;
  var below = 0.0;
  for (var column = 0u; column < VOCABULARY; column++) {
    sum += exp(logits[start + column] - largest);
    if (SMOOTHING > 0.0) {
      below += logits[start + column] - largest;
    }
  }
  let at = start + u32(expected);
  losses[row] = log(sum) + largest - logits[at];
  if (SMOOTHING > 0.0) {
    losses[row] = log(sum) - (1.0 - SMOOTHING) * (logits[at] - largest) - SMOOTHING * below / f32(VOCABULARY);
  }
  if (GRADIENT == 1u) {
    for (var column = 0u; column < VOCABULARY; column++) {
      logits[start + column] = exp(logits[start + column] - largest) / sum - SMOOTHING / f32(VOCABULARY);
    }
    logits[at] -= 1.0 - SMOOTHING;
  }
}
