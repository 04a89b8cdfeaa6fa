import { randomBlock, streamOf } from '../base/random.ts'
import type { TrainingOptions } from '../protocol/options.ts'

export interface SampleWindow {
  readonly seed: number
  /** 0-based window of the run. */
  readonly update: number
  readonly numSamples: number
  /** Samples per update. */
  readonly globalBatchSize: number
  readonly strategy: TrainingOptions['train_sampling_strategy']
}

/**
 * U1: the samples of a window, from (seed, update) alone. An epoch ends with a short window, as the Trainer's does: no sample
 * repeats within an epoch and none is left out.
 */
export function samplesOfUpdate({ seed, update, numSamples, globalBatchSize, strategy }: SampleWindow): {
  readonly indices: number[]
  readonly epochAfter: number
} {
  const perEpoch = updatesPerEpoch(numSamples, globalBatchSize)
  const epoch = Math.floor(update / perEpoch)
  const start = (update % perEpoch) * globalBatchSize
  const end = Math.min(start + globalBatchSize, numSamples)
  const indices: number[] = []
  for (let position = start; position < end; position++) {
    indices.push(strategy === 'random' ? shuffledIndex(position, numSamples, { seed, epoch }) : position)
  }
  return { indices, epochAfter: epoch + end / numSamples }
}

export function updatesPerEpoch(numSamples: number, globalBatchSize: number): number {
  if (numSamples < 1 || globalBatchSize < 1) throw new Error(`Cannot plan updates of ${globalBatchSize} from ${numSamples} samples: need at least 1 of each`)
  return Math.ceil(numSamples / globalBatchSize)
}

/** Windows of the whole run, as the Trainer counts its max_steps. */
export function totalUpdates(options: Pick<TrainingOptions, 'max_steps' | 'num_train_epochs'>, perEpoch: number): number {
  return options.max_steps > 0 ? options.max_steps : Math.ceil(options.num_train_epochs * perEpoch)
}

/** Samples per update; `ranks` are those that are there when the room starts. */
export function globalBatchSize(options: Pick<TrainingOptions, 'global_batch_size' | 'per_device_train_batch_size' | 'gradient_accumulation_steps'>, ranks: number): number {
  return options.global_batch_size ?? options.per_device_train_batch_size * ranks * options.gradient_accumulation_steps
}

/** Updates between two evaluations; 0 for none. */
export function evaluationInterval(options: Pick<TrainingOptions, 'eval_strategy' | 'eval_steps' | 'logging_steps'>, perEpoch: number): number {
  switch (options.eval_strategy) {
    case 'no':
      return 0
    case 'steps':
      return options.eval_steps ?? options.logging_steps
    case 'epoch':
      return perEpoch
    default:
      return options.eval_strategy satisfies never
  }
}

/** Even for a domain of four, this many rounds leave no visible pattern. */
const FEISTEL_ROUNDS = 8
const ORDER_STREAM = streamOf('sample-order')

/**
 * The element at `position` of the epoch's permutation of [0, length), without the permutation: a Feistel network over the
 * next power of four, walked until it lands inside (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
 */
export function shuffledIndex(position: number, length: number, { seed, epoch }: { readonly seed: number; readonly epoch: number }): number {
  let halfBits = 1
  while (4 ** halfBits < length) halfBits++
  const words = new Uint32Array(4)
  const half = 2 ** halfBits
  let index = position
  do {
    let left = Math.floor(index / half)
    let right = index % half
    for (let round = 0; round < FEISTEL_ROUNDS; round++) {
      randomBlock(words, seed, { stream: (ORDER_STREAM ^ epoch) >>> 0, counter: right * FEISTEL_ROUNDS + round })
      const mixed = left ^ ((words[0] ?? 0) & (half - 1))
      left = right
      right = mixed
    }
    index = left * half + right
  } while (index >= length)
  return index
}
