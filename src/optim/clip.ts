/**
 * What gradients of global norm `norm` are multiplied by, so that their norm is at most `maxNorm`; 1 when that is 0, which turns
 * clipping off. The small term is torch's (`clip_grad_norm_`).
 */
export function clipFactor(norm: number, maxNorm: number): number {
  return maxNorm > 0 ? Math.min(1, maxNorm / (norm + 1e-6)) : 1
}
