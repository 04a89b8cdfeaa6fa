import { expect, test } from 'vitest'
import { loopbackRings } from '../collectives/testing/loopback-rings.ts'
import { planUpdate } from '../coordinator/planner.ts'
import { prepareRun } from '../coordinator/prepare-run.ts'
import type { DataFile } from '../data/data-file.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { createReplica } from './replica.ts'

const records = Array.from({ length: 9 }, (_, index) => ({
  line: index + 1,
  fields: { prompt: 'abc '.repeat(1 + (index % 3)), completion: `answer ${'x'.repeat((index * 5) % 17)}` },
}))
const FILE: DataFile = { kind: 'records', name: 'a.jsonl', records }

/** Updates of a run on one rank, each of all rows. */
async function run(options: Readonly<Record<string, unknown>>): Promise<UpdateReport[]> {
  const all = { preset: 'tiny', tokenizer: 'byte', n_layer: 1, block_size: 48, global_batch_size: 9, eval_strategy: 'no', learning_rate: 0.01, ...options }
  const { settings, corpus } = await prepareRun({ train: FILE, validation: null }, resolveOptions(all), 1)
  const engine = await openTestEngine('lane')
  using room = loopbackRings(1)
  const message = { type: 'prepare', run: 'test', options: settings.options, config: settings.config, corpus: settings.corpus, initial: { from: 'seed' } } as const
  const replica = await createReplica(engine, message, { corpus, model: null, optimizer: null }, () => {})
  const reports: UpdateReport[] = []
  for (let update = 0; update < 3; update++) reports.push(await replica.update(planUpdate(settings.planner, 1, update, 1), room.rings[0]!))
  replica.close()
  return reports
}

for (const model_type of ['gpt2', 'llama']) {
  test(`[U4] packed rows of ${model_type} give the losses and norms of rows of their own`, { timeout: 120_000 }, async () => {
    const apart = await run({ model_type })
    const packed = await run({ model_type, packing: true })
    const answers = records.reduce((sum, { fields }) => sum + fields.completion.length, 0)
    for (const [update, { lossSum, numItems, gradNorm, tokens }] of packed.entries()) {
      const other = apart[update]!
      expect([numItems, other.numItems]).toEqual([answers, answers])
      expect(Math.abs(lossSum / other.lossSum - 1)).toBeLessThan(1e-5)
      expect(Math.abs(gradNorm / other.gradNorm - 1)).toBeLessThan(1e-4)
      expect(tokens).toBeLessThan(other.tokens)
    }
  })
}
