import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { floatTensor } from '../checkpoint/float-tensors.ts'
import type { FolderFile } from '../checkpoint/hf-folder.ts'
import { readSafetensors } from '../checkpoint/safetensors.ts'
import { unzipFiles } from '../checkpoint/zip.ts'
import { loopbackRings } from '../collectives/testing/loopback-rings.ts'
import { ActiveRun } from '../coordinator/active-run.ts'
import { EventLog } from '../coordinator/event-log.ts'
import { exportZip } from '../coordinator/export-model.ts'
import { planUpdate } from '../coordinator/planner.ts'
import { type PreparedRun, prepareRun } from '../coordinator/prepare-run.ts'
import { Roster } from '../coordinator/roster.ts'
import { type ReadFile, readStart, type StartFolder } from '../coordinator/start-folder.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { parseOptions } from '../protocol/options.ts'
import { goldenJson } from '../train/testing/golden.ts'
import { createReplica, type Replica } from './replica.ts'

const MODEL = 'e2e/fixtures/golden/trainer/model'
const { samples } = goldenJson<{ readonly samples: readonly Record<string, unknown>[] }>('trainer/data.json')
const DATA = { train: { kind: 'records', name: 'rows.jsonl', records: samples.map((fields, index) => ({ line: index + 1, fields })) }, validation: null } as const
const OPTIONS = { tokenizer: 'file', model_type: 'qwen3', n_layer: 2, n_embd: 32, block_size: 64, output_dir: 'out/mine', learning_rate: 0.02, global_batch_size: 10 }
const ADAPTER = { use_peft: true, lora_r: 4, lora_alpha: 8, lora_dropout: 0.2, lora_target_modules: 'q_proj,down_proj' }
const EVERY_ROW = [
  [0, 1, 2, 3, 4, 5, 6, 7],
  [8, 9],
]

const readFrom = (files: readonly FolderFile[], folder: string): ReadFile => {
  const found = new Map(files.filter(({ name }) => name.startsWith(folder)).map(({ name, bytes }) => [name.slice(folder.length), bytes]))
  return async (name) => found.get(name)?.slice() ?? null
}

const base = (): Promise<StartFolder> => {
  const files = ['config.json', 'model.safetensors'].map((name) => ({ name, bytes: new Uint8Array(readFileSync(`${MODEL}/${name}`)) }))
  return readStart(readFrom(files, ''), { kind: 'weights', name: 'models/base' })
}

interface Ready {
  readonly prepared: PreparedRun
  readonly replica: Replica
}

async function ready(start: StartFolder, options: Readonly<Record<string, unknown>>): Promise<Ready> {
  const prepared = await prepareRun(DATA, parseOptions({ ...OPTIONS, ...options }), 1, { start })
  const { settings, corpus, weights } = prepared
  const message = { type: 'prepare', run: 'test', options: settings.options, config: settings.config, corpus: settings.corpus, initial: settings.initial } as const
  return { prepared, replica: await createReplica(await openTestEngine('lane'), message, { corpus, model: weights, optimizer: null }, () => {}) }
}

test('[M4] an adapter goes to a rank that joins, and out in a zip and back: alone with the same bits, merged with the same loss', { timeout: 120_000 }, async () => {
  const model = await base()
  const { prepared, replica } = await ready(model, ADAPTER)
  using room = loopbackRings(1)
  const before = await replica.evaluate(EVERY_ROW)
  for (let update = 0; update < 3; update++) await replica.update(planUpdate(prepared.settings.planner, 1, update, 1), room.rings[0]!)
  const trained = await replica.evaluate(EVERY_ROW)
  expect(trained.lossSum).toBeLessThan(before.lossSum - 1)
  const weights = await replica.exportModel()

  // [M4] A rank that joins starts from the same model and takes over what was trained.
  const joiner = (await ready(model, ADAPTER)).replica
  expect(await joiner.stateHash()).not.toBe(await replica.stateHash())
  using pair = loopbackRings(2)
  await Promise.all([replica, joiner].map((one, rank) => one.broadcastState(pair.rings[rank]!, 0)))
  expect([await joiner.stateHash(), joiner.nextUpdate]).toEqual([await replica.stateHash(), 3])
  expect(await joiner.evaluate(EVERY_ROW)).toEqual(trained)
  joiner.close()

  const run = new ActiveRun(
    prepared,
    { name: 'rows.jsonl', amount: 10, unit: 'rows' },
    { roster: new Roster(() => null), events: new EventLog(() => {}), report: () => {}, place: null },
  )
  replica.close()
  const { name, blob } = exportZip(run, weights, { merged: true })
  expect(name).toBe('mine.zip')
  const files = unzipFiles(new Uint8Array(await blob.arrayBuffer()))
  const names = ['README.md', 'adapter_config.json', 'adapter_model.safetensors', 'merged/config.json', 'merged/generation_config.json', 'merged/model.safetensors']
  expect(files.map((file) => file.name).sort()).toEqual([...names, 'trainer_state.json', 'training_args.json'].map((file) => `mine/${file}`))
  const card = new TextDecoder().decode(files.find((file) => file.name.endsWith('README.md'))?.bytes)
  expect(card).toContain('library_name: peft\nbase_model: "models/base"\n')
  expect(card).toContain('| Adapter | LoRA, rank 4, alpha 8, dropout 0.2 |')

  const alone = readFrom(files, 'mine/')
  await expect(readStart(alone, { kind: 'weights' })).rejects.toThrow('Cannot start: this is an adapter alone, need the model under it, models/base')
  const again = await ready(await readStart(alone, { kind: 'weights', base: model }), ADAPTER)
  expect(await again.replica.evaluate(EVERY_ROW)).toEqual(trained)
  expect(readSafetensors(await again.replica.exportModel()).tensors).toEqual(readSafetensors(weights).tensors)
  again.replica.close()

  const merged = await ready(await readStart(readFrom(files, 'mine/merged/'), { kind: 'weights' }), {})
  const { lossSum, items } = await merged.replica.evaluate(EVERY_ROW)
  expect(items).toBe(trained.items)
  expect(Math.abs(lossSum / trained.lossSum - 1)).toBeLessThan(1e-5)
  merged.replica.close()
})

test('an adapter without a model under it, and one of another shape, are refused', { timeout: 60_000 }, async () => {
  await expect(prepareRun(DATA, parseOptions({ ...OPTIONS, ...ADAPTER }), 1)).rejects.toThrow(
    'Cannot train an adapter: there is no model under it, need one to start from (--model)',
  )
  const model = await base()
  const modules = [{ name: 'model.layers.0.self_attn.q_proj', a: floatTensor(new Float32Array(128), [4, 32]), b: floatTensor(new Float32Array(128), [32, 4]) }]
  const config = { rank: 4, alpha: 8, dropout: 0, rankStabilised: false, targets: ['q_proj', 'down_proj'], baseModel: null }
  // Not silently made anew: a part of the adapter is there.
  await expect(ready({ ...model, adapter: { config, modules } }, ADAPTER)).rejects.toThrow(
    /^Cannot load the model: tensor model\.layers\.\d\.\S+\.lora_A\.weight is missing, need one of shape \[4, \d+\]$/,
  )
})
