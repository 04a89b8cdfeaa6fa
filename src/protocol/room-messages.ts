import type { UpdatePlan, UpdateReport } from './update-plan.ts'

/** Bumped whenever a message, frame or the meaning of an option changes. */
export const PROTOCOL_VERSION = 3

export interface AdapterFacts {
  readonly vendor: string
  readonly architecture: string
  readonly description: string
  readonly maxBindingBytes: number
  readonly maxBufferBytes: number
  readonly profile: 'lane' | 'shared'
}

export interface SelfTestResult {
  readonly passed: boolean
  /** Largest relative error seen against the float64 reference. */
  readonly worstError: number
}

/** One rank's place in a generation; the array order is the ring order. */
export interface Member {
  readonly peer: string
  readonly name: string
}

/** Control messages from the coordinator to a rank, over the peer connection's control channel. */
export type ToRank =
  | { readonly type: 'admitted'; readonly rankName: string }
  | { readonly type: 'refused'; readonly reason: string }
  /** Options, model config (config.json) and the training tokens, which follow as the blob `corpus`; then what `initial` says. */
  | {
      readonly type: 'prepare'
      readonly run: string
      readonly options: Record<string, unknown>
      readonly config: Record<string, unknown>
      readonly corpus: CorpusFacts
      readonly initial: InitialState
    }
  /** M1: open the links to your ring neighbours, then answer `formed`. */
  | { readonly type: 'form'; readonly generation: number; readonly members: readonly Member[] }
  /** All formed: broadcast the state of rank `source` (M4, M5), then answer `synced`. */
  | { readonly type: 'sync'; readonly generation: number; readonly source: number }
  | { readonly type: 'plan'; readonly plan: UpdatePlan }
  /** A person has paused the run; the next plan ends it. For the page: what is planned is computed. */
  | { readonly type: 'pause' }
  /** Stop waiting for this generation: its ring is broken or replaced (M3). */
  | { readonly type: 'abort'; readonly generation: number; readonly cause: string }
  | { readonly type: 'evaluate'; readonly generation: number; readonly id: number; readonly microBatches: readonly (readonly number[])[] }
  | {
      readonly type: 'generate'
      readonly id: number
      readonly prompt: readonly number[]
      readonly tokens: number
      readonly temperature: number
      readonly topK: number
      readonly topP: number
      readonly seed: number
    }
  /** Answered by `exported` and the blob `model` (safetensors). */
  | { readonly type: 'export'; readonly id: number }
  /**
   * Answered by `checkpointed` and, when taken, the blobs `checkpoint-model` and `checkpoint-optimizer` (safetensors): the state after
   * `id` windows, if this rank then has `committed` updates (null: whatever it has).
   */
  | { readonly type: 'checkpoint'; readonly generation: number; readonly id: number; readonly committed: number | null }
  | { readonly type: 'finish'; readonly summary: string }

/** Where a run's weights come from: all from the seed; the blob `model`; or a checkpoint, the blobs `model` and `optimizer`. */
export type InitialState =
  | { readonly from: 'seed' }
  | { readonly from: 'weights' }
  /** `update`: windows done, skipped ones included. */
  | { readonly from: 'checkpoint'; readonly committed: number; readonly update: number }

/** What the blob `corpus` holds. */
export type CorpusFacts = BlockFacts | RowFacts

/** A text in blocks of block_size tokens. */
export interface BlockFacts {
  readonly layout: 'blocks'
  readonly bytes: number
  readonly sha256: string
  readonly bytesPerToken: 2 | 4
  readonly trainTokens: number
  readonly validationTokens: number
}

/** Samples of their own lengths with labels. */
export interface RowFacts {
  readonly layout: 'rows'
  readonly bytes: number
  readonly sha256: string
  readonly trainSamples: number
  readonly validationSamples: number
  /** In all samples together. */
  readonly tokens: number
  /** Of the longest sample. */
  readonly rowLength: number
  /** Whether rows hold several documents each. */
  readonly packed: boolean
}

/** Control messages from a rank to the coordinator. */
export type FromRank =
  | {
      readonly type: 'hello'
      readonly protocol: number
      readonly build: string
      readonly name: string
      readonly browser: string
      readonly adapter: AdapterFacts
      readonly selfTest: SelfTestResult
    }
  | { readonly type: 'progress'; readonly phase: string; readonly done: number; readonly total: number; readonly unit: 'bytes' | 'items' }
  | { readonly type: 'prepared'; readonly run: string }
  | { readonly type: 'formed'; readonly generation: number; readonly update: number; readonly stateHash: string }
  | { readonly type: 'synced'; readonly generation: number; readonly update: number; readonly stateHash: string }
  | { readonly type: 'report'; readonly report: UpdateReport }
  | { readonly type: 'evaluated'; readonly id: number; readonly lossSum: number; readonly items: number }
  | { readonly type: 'generated'; readonly id: number; readonly ids: readonly number[] }
  | { readonly type: 'exported'; readonly id: number; readonly bytes: number }
  | { readonly type: 'checkpointed'; readonly id: number; readonly committed: number; readonly taken: boolean }
  /** M7: something failed on this rank. `generation` is null when it was not inside one. */
  | { readonly type: 'failed'; readonly generation: number | null; readonly update: number | null; readonly cause: string; readonly fatal: boolean }
  | { readonly type: 'visibility'; readonly hidden: boolean }
  | { readonly type: 'leaving' }
