import laneSource from '../../../shaders/cross-entropy-lane.wgsl?raw'
import sharedSource from '../../../shaders/cross-entropy-shared.wgsl?raw'
import { foldedGrid } from '../engine.ts'
import type { Kernel } from '../kernel.ts'
import { type Tensor, formatShape } from '../tensor.ts'
import { columnSum } from './column-sum.ts'
import { linear } from './linear.ts'
import { matmul } from './matmul.ts'

const lane: Kernel = { name: 'cross-entropy-lane', source: laneSource }
const shared: Kernel = { name: 'cross-entropy-shared', source: sharedSource }

export interface LossOptions {
  /** From 0, which is off, to below 1. */
  readonly smoothing?: number
}

/**
 * Head and loss in one: logits = x W^T, softmax cross-entropy summed over rows whose target is not -100.
 * x: [R, C], weight: [V, C], targets: i32 [R]. Adds the sum, in nats, to `lossSum` (f32 [1]).
 * `smoothing` of each target is spread over the whole vocabulary (Szegedy et al. 2016; the Trainer's label_smoothing_factor).
 * When recording, the logits' buffer becomes d logits (of the sum, factor 1) in place and is the returned root of `backward`.
 */
export function crossEntropyHead(x: Tensor, weight: Tensor, targets: Tensor, lossSum: Tensor, { smoothing = 0 }: LossOptions = {}): Tensor {
  const { engine } = x
  const { tape } = engine
  const [rows = 0, width = 0] = x.shape
  const [vocabulary = 0, weightWidth = 0] = weight.shape
  if (width !== weightWidth) throw new Error(`Cannot matmul ${formatShape(x.shape)} by ${formatShape(weight.shape)}: ${width} is not ${weightWidth}`)
  if (targets.size !== rows) throw new Error(`Cannot score ${rows} rows with ${targets.size} targets: need one each`)
  const logits = engine.empty([rows, vocabulary])
  matmul(engine, { form: 'NT', m: rows, n: vocabulary, k: width, a: x, b: weight, out: logits })
  const recording = tape.recording && (x.requiresGrad || weight.requiresGrad)
  const losses = engine.empty([rows])
  const [kernel, grid] = engine.profile === 'lane' ? [lane, [Math.ceil(rows / 32)] as const] : [shared, foldedGrid(rows)]
  engine.dispatch(kernel, { ROWS: rows, VOCABULARY: vocabulary, GRADIENT: recording ? 1 : 0, SMOOTHING: smoothing }, [targets, logits, losses], grid)
  columnSum(engine, losses, 1, { tensor: lossSum, accumulate: true })
  losses.release()

  tape.record([x, weight], logits, [], () => {
    const dx = tape.target(x)
    if (dx) matmul(engine, { form: 'NN', m: rows, n: width, k: vocabulary, a: logits, b: weight, out: dx.tensor, accumulate: dx.accumulate })
    const dWeight = tape.target(weight)
    if (dWeight) matmul(engine, { form: 'TN', m: vocabulary, n: width, k: rows, a: logits, b: x, out: dWeight.tensor, accumulate: dWeight.accumulate })
  })
  return logits
}

/** hidden: [R, C], weight: [V, C] -> logits [R, V] */
export function headLogits(hidden: Tensor, weight: Tensor): Tensor {
  return linear(hidden, weight, null, { layout: 'out-in' })
}
