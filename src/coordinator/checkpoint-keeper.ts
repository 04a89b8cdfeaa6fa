import { type FolderFile, jsonFile } from '../checkpoint/hf-folder.ts'
import { RUN_STATE_FILE, type RunState } from '../checkpoint/run-state.ts'
import type { CheckpointFacts, CheckpointPlace } from './checkpoint-place.ts'
import type { PreparedRun } from './prepare-run.ts'
import { runFolder } from './run-folder.ts'
import type { PastRun, RunHistory } from './run-history.ts'
import type { TextSource } from './session-view.ts'

export interface KeeperPorts {
  readonly place: CheckpointPlace
  /** The state after `window` windows is kept, void, or could not be kept (then with a sentence). */
  done(window: number, problem: string | null): void
}

interface Coming {
  readonly peer: string
  /** Windows done. */
  readonly window: number
  readonly committed: number
  readonly files: Map<string, Uint8Array<ArrayBuffer>>
}

const WEIGHTS = 'checkpoint-model'
const MOMENTS = 'checkpoint-optimizer'

/** Puts checkpoints together from a rank's bytes and the run's history, and hands them on; one at a time. */
export class CheckpointKeeper {
  readonly #prepared: PreparedRun
  readonly #source: TextSource
  readonly #history: RunHistory
  readonly #ports: KeeperPorts
  #coming: Coming | null = null

  constructor(run: { readonly prepared: PreparedRun; readonly source: TextSource }, history: RunHistory, ports: KeeperPorts) {
    this.#prepared = run.prepared
    this.#source = run.source
    this.#history = history
    this.#ports = ports
  }

  taken(peer: string, window: number, committed: number): void {
    this.#coming = { peer, window, committed, files: new Map() }
  }

  blob(peer: string, name: string, bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#coming?.peer !== peer || (name !== WEIGHTS && name !== MOMENTS)) return
    this.#coming.files.set(name, bytes)
    this.look()
  }

  /** A rank is gone. @returns the window whose state went with it. */
  lost(peer: string): number | null {
    if (this.#coming?.peer !== peer || this.#coming.files.size === 2) return null
    const { window } = this.#coming
    this.#coming = null
    return window
  }

  /** Records from window `update` on are void. */
  rewound(update: number): void {
    if (!this.#coming || this.#coming.window <= update) return
    const { window } = this.#coming
    this.#coming = null
    this.#ports.done(window, null)
  }

  /** Whenever something has come: hands the checkpoint on once bytes, records and the evaluation that belongs to it are here. */
  look(): void {
    const coming = this.#coming
    const model = coming?.files.get(WEIGHTS)
    const optimizer = coming?.files.get(MOMENTS)
    const past = coming && this.#history.upTo(coming.window)
    if (!coming || !model || !optimizer || !past || !this.#evaluated(coming.window, past)) return
    this.#coming = null
    const facts = this.#facts(coming, past)
    this.#ports.place.keep(facts, this.#files(coming, past, { model, optimizer })).then(
      () => this.#ports.done(coming.window, null),
      (cause: unknown) => this.#ports.done(coming.window, `Cannot keep ${facts.name}: ${cause instanceof Error ? cause.message : String(cause)}`),
    )
  }

  #facts({ window, committed }: Coming, { records }: PastRun): CheckpointFacts {
    const { settings, options } = this.#prepared
    const loss = records.at(-1)?.loss ?? Number.NaN
    return {
      name: `checkpoint-${committed}`,
      step: committed,
      update: window,
      totalUpdates: settings.totalUpdates,
      loss: Number.isFinite(loss) ? loss : null,
      source: this.#source,
      preset: options.preset,
      outputDir: options.output_dir,
    }
  }

  #evaluated(window: number, { records, evaluations }: PastRun): boolean {
    const { evalEvery, evalSamples, totalUpdates } = this.#prepared.settings
    const due = evalEvery > 0 && evalSamples.length > 0 && (window % evalEvery === 0 || window === totalUpdates)
    return !due || evaluations.some(({ step }) => step === records.at(-1)?.step)
  }

  #files({ window, committed }: Coming, past: PastRun, { model, optimizer }: { readonly model: Uint8Array; readonly optimizer: Uint8Array }): FolderFile[] {
    const { settings, options } = this.#prepared
    const state: RunState = {
      version: 2,
      committed,
      update: window,
      lr_scheduler: { type: options.lr_scheduler_type, total_steps: settings.totalUpdates, last_epoch: committed, last_lr: past.records.at(-1)?.learning_rate ?? 0 },
      corpus_sha256: settings.corpus.sha256,
      ...past,
    }
    const folder = runFolder(this.#prepared, this.#source, past, { finished: false, weights: model })
    return [...folder, { name: 'optimizer.safetensors', bytes: optimizer }, jsonFile(RUN_STATE_FILE, { ...state })]
  }
}
