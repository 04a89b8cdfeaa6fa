import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TrainingOptions } from '../../protocol/options.ts'

/** A folder that looks like a checkpoint to the command line; its weights are none. @returns its path. */
export function writeTestCheckpoint(folder: string, step: number, options: TrainingOptions): string {
  const path = join(folder, `checkpoint-${step}`)
  mkdirSync(path)
  const state = {
    version: 2,
    committed: 0,
    update: 0,
    lr_scheduler: { type: 'linear', total_steps: 12, last_epoch: 0, last_lr: 0 },
    corpus_sha256: 'a'.repeat(64),
    records: [],
    evaluations: [],
  }
  const files = { 'config.json': {}, 'training_args.json': options, 'training_state.json': state, 'model.safetensors': 0, 'optimizer.safetensors': 0 }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), JSON.stringify(content))
  return path
}
