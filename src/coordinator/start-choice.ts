import { computed, signal } from '@preact/signals'
import type { TrainingOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { resumedOptions } from '../protocol/resume-options.ts'
import type { BrowserCheckpoints, KeptCheckpoint } from './browser-checkpoints.ts'
import { type StartFolder, needJson, readStart } from './start-folder.ts'

interface Chosen {
  readonly folder: StartFolder
  /** Of a checkpoint of this browser. */
  readonly resumed: { readonly checkpoint: KeptCheckpoint; readonly options: Readonly<Record<string, unknown>> } | null
}

/** What the next run starts from, and the options that this leaves to choose. */
export class StartChoice {
  readonly #chosen = signal<Chosen | null>(null)
  /** The checkpoint of this browser that the next run goes on from. */
  readonly checkpoint = computed(() => this.#chosen.value?.resumed?.checkpoint ?? null)

  /** Null for random weights. */
  constructor(folder: StartFolder | null) {
    this.#chosen.value = folder && { folder, resumed: null }
  }

  get folder(): StartFolder | null {
    return this.#chosen.value?.folder ?? null
  }

  /**
   * @returns what to choose with it: a run that had reached its last update gets as many again.
   * @throws a sentence when the checkpoint does not read; what was chosen before stays.
   */
  async resume(checkpoint: KeptCheckpoint, kept: BrowserCheckpoints): Promise<Readonly<Record<string, unknown>>> {
    const read = (name: string): Promise<Uint8Array<ArrayBuffer> | null> => kept.read(checkpoint, name)
    const [folder, options] = await Promise.all([readStart(read, { kind: 'checkpoint', base: this.folder }), needJson(read, 'training_args.json')])
    this.#chosen.value = { folder, resumed: { checkpoint, options } }
    return Number(options['max_steps']) === checkpoint.update ? { max_steps: 2 * checkpoint.update } : {}
  }

  clear(): void {
    this.#chosen.value = null
  }

  /** @throws OptionError as `resolveOptions`, and when `raw` contradicts the checkpoint. */
  options(raw: Readonly<Record<string, unknown>>): TrainingOptions {
    const resumed = this.#chosen.value?.resumed
    if (!resumed) return resolveOptions(raw)
    const { name, update } = resumed.checkpoint
    return resumedOptions({ name, update, options: resumed.options }, raw)
  }
}
