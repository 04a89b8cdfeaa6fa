import type { TokenizerFiles } from '../checkpoint/hf-folder.ts'
import type { RunState } from '../checkpoint/run-state.ts'

/** What a run starts from instead of random weights: a model's folder, or a checkpoint of a run. */
export interface StartFolder {
  /** config.json */
  readonly config: Readonly<Record<string, unknown>>
  /** Null when the folder has none. */
  readonly tokenizerFiles: TokenizerFiles | null
  /** A safetensors file. */
  readonly model: Uint8Array<ArrayBuffer>
  /** Of a checkpoint. */
  readonly resumed: { readonly optimizer: Uint8Array<ArrayBuffer>; readonly state: RunState } | null
}
