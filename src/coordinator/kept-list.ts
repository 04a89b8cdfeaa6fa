import { signal } from '@preact/signals'
import { zipFiles } from '../checkpoint/zip.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import type { BrowserCheckpoints, KeptCheckpoint } from './browser-checkpoints.ts'
import type { CheckpointPlace } from './checkpoint-place.ts'
import type { KeptView } from './session-view.ts'

/** The checkpoints of this browser as the page shows them. */
export class KeptList implements KeptView {
  readonly list = signal<readonly KeptCheckpoint[]>([])
  readonly #checkpoints: BrowserCheckpoints | null

  /** Null where the browser keeps none. */
  constructor(checkpoints: BrowserCheckpoints | null) {
    this.#checkpoints = checkpoints
    void this.#refresh()
  }

  /** For one run; null where nothing is kept. */
  place({ save_strategy, save_total_limit }: TrainingOptions): CheckpointPlace | null {
    if (!this.#checkpoints || save_strategy === 'no') return null
    const place = this.#checkpoints.place(save_total_limit)
    return {
      keep: async (facts, files) => {
        // Asked for when there is something to lose: else a browser that runs out of room may clear it away.
        await navigator.storage.persist()
        try {
          await place.keep(facts, files)
        } finally {
          await this.#refresh()
        }
      },
    }
  }

  async remove(checkpoint: KeptCheckpoint): Promise<void> {
    await this.#checkpoints?.remove(checkpoint)
    await this.#refresh()
  }

  async download(checkpoint: KeptCheckpoint): Promise<{ readonly name: string; readonly blob: Blob }> {
    const files = (await this.#checkpoints?.files(checkpoint)) ?? []
    return { name: `${checkpoint.name}.zip`, blob: new Blob([zipFiles(files, checkpoint.name)], { type: 'application/zip' }) }
  }

  async #refresh(): Promise<void> {
    this.list.value = (await this.#checkpoints?.list()) ?? []
  }
}
