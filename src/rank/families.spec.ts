import { expect, test } from 'vitest'
import { readWeights } from '../checkpoint/weights.ts'
import { loopbackRings } from '../collectives/testing/loopback-rings.ts'
import { prepareRun } from '../coordinator/prepare-run.ts'
import { plainText } from '../data/build-corpus.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { modelConfig, modelLayout } from '../nn/models/families.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { GOLDEN_FAMILIES } from '../train/testing/golden.ts'
import { createReplica } from './replica.ts'

const TEXT = Array.from({ length: 60 }, (_, index) => `line ${(index * 37) % 91} of a small text, `).join('')
const UPDATES = 6

for (const family of GOLDEN_FAMILIES) {
  test(`a run of model_type ${family} learns, writes text, and its file is that of its config and has as many numbers as were announced`, { timeout: 120_000 }, async () => {
    const options = resolveOptions({ preset: 'tiny', model_type: family, n_layer: 1, block_size: 16, learning_rate: 0.01 })
    const { settings, corpus, parameters } = await prepareRun(plainText(TEXT), options, 1)
    const engine = await openTestEngine('lane')
    using room = loopbackRings(1)
    const ring = room.rings[0]
    if (!ring) throw new Error('no ring')
    const message = { type: 'prepare', run: 'test', options: settings.options, config: settings.config, corpus: settings.corpus, initial: { from: 'seed' } } as const
    const replica = await createReplica(engine, message, { corpus, model: null, optimizer: null }, () => {})
    const losses: number[] = []
    for (let update = 0; update < UPDATES; update++) {
      const plan = { generation: 1, update, microBatches: [[[0, 1, 2, 3]]], numItems: 4 * 15, numTokens: 4 * 16, epoch: 0, hash: false }
      const { outcome, lossSum, numItems } = await replica.update(plan, ring)
      expect(outcome).toBe('committed')
      losses.push(lossSum / numItems)
    }
    expect(losses.at(-1)).toBeLessThan((losses[0] ?? 0) - 0.3)
    expect(await replica.generate({ type: 'generate', id: 0, prompt: [1], tokens: 3, temperature: 1, topK: 0, topP: 1, seed: 1 })).toHaveLength(3)
    const file = readWeights(await replica.exportModel())
    const shapes = modelLayout(modelConfig(settings.config)).specs.map(({ name, shape }) => [name, shape] as const)
    expect(new Map([...file].map(([name, { shape }]) => [name, shape]))).toEqual(new Map(shapes))
    expect([...file.values()].reduce((sum, { values }) => sum + values.length, 0)).toBe(parameters)
    replica.close()
  })
}
