import { expect, test } from 'vitest'
import { prepareRun } from '../coordinator/prepare-run.ts'
import { plainText } from '../data/build-corpus.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { createReplica } from './replica.ts'

const BLOCK_SIZE = 8

test('generated text never comes from the last position of a block, which has no target', async () => {
  const text = 'a small text of some characters, '.repeat(20)
  const { settings, corpus, tokenizer } = await prepareRun(plainText(text), resolveOptions({ preset: 'tiny', block_size: BLOCK_SIZE, n_embd: 16, initializer_range: 0.5 }), 1)
  const engine = await openTestEngine('lane')
  const message = { type: 'prepare', run: 'test', options: settings.options, config: settings.config, corpus: settings.corpus, initial: { from: 'seed' } } as const
  const replica = await createReplica(engine, message, { corpus, model: null, optimizer: null }, () => {})
  const generate = (prompt: Uint32Array) => replica.generate({ type: 'generate', id: 0, prompt: [...prompt], tokens: 12, temperature: 1, topK: 0, topP: 1, seed: 1 })
  const prompt = tokenizer.encode('text of ')
  expect(prompt.length).toBe(BLOCK_SIZE)
  expect(await generate(prompt)).toEqual(await generate(prompt.slice(1)))
  expect(await generate(prompt)).not.toEqual(await generate(prompt.slice(2)))
  replica.close()
})
