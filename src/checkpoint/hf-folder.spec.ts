import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { resolveOptions } from '../protocol/presets.ts'
import type { StepRecord } from '../protocol/step-record.ts'
import { floatTensor } from './float-tensors.ts'
import { generationConfigJson, modelConfigJson } from './model-config.ts'
import { type FolderFile, modelFolder, readModelFolder } from './hf-folder.ts'
import { modelCard } from './model-card.ts'
import { writeSafetensors } from './safetensors.ts'
import { trainerStateJson } from './trainer-state.ts'
import { unzipFiles, zipFiles } from './zip.ts'

const GOLDEN = new URL('../../e2e/fixtures/golden/gpt2/', import.meta.url)

async function goldenFolder(): Promise<FolderFile[]> {
  const names = (await readdir(GOLDEN)).filter((name) => ['config.json', 'generation_config.json', 'model.safetensors'].includes(name))
  return Promise.all(names.map(async (name) => ({ name, bytes: new Uint8Array(await readFile(new URL(name, GOLDEN))) })))
}

const options = resolveOptions({ preset: 'tiny', logging_steps: 1 })
const record = (step: number): StepRecord => ({
  step,
  loss: 4 - step,
  grad_norm: 1,
  learning_rate: 1e-3,
  epoch: step / 4,
  num_items: 124,
  num_samples: 1,
  num_tokens: 1,
  outcome: 'committed',
  ranks: 2,
  tokens_per_second: 1,
  elapsed_ms: step * 100,
})
const evaluations = [{ step: 2, epoch: 0.5, eval_loss: 2.25, eval_items: 310, eval_runtime: 0.5 }]
const run = { options, maxSteps: 20, records: [record(1), record(2)], evaluations, itemsPerSample: 31, finished: true }
const tokenizerFiles = { 'tokenizer.json': { model: { type: 'BPE' } }, 'tokenizer_config.json': { model_max_length: 32 } }
const facts = {
  modelType: 'gpt2',
  options,
  startedFrom: 'seed' as const,
  source: { name: 'my|book.txt', amount: 123_456, unit: 'characters' as const },
  vocabSize: 84,
  parameters: 29_000,
  records: run.records,
  evaluations,
}

function exported(): FolderFile[] {
  return modelFolder({
    config: modelConfigJson(options, 84),
    generationConfig: generationConfigJson(options),
    weights: writeSafetensors(new Map([['transformer.wte.weight', floatTensor(Float32Array.of(1, 2, 3, 4), [2, 2])]])),
    tokenizerFiles,
    trainerState: trainerStateJson(run),
    trainingArgs: { ...options },
    modelCard: modelCard(facts),
  })
}

describe('readModelFolder', () => {
  it('reads a folder of Hugging Face', async () => {
    const { config, tensors, tokenizerFiles: none } = readModelFolder(await goldenFolder())
    expect(config).toMatchObject({ model_type: 'gpt2', n_embd: 32, vocab_size: 80 })
    expect(tensors.size).toBe(28)
    expect(tensors.get('transformer.ln_f.weight')).toMatchObject({ shape: [32] })
    expect(none).toBeNull()
  })

  it('reads what modelFolder wrote, also from a zip with a directory', () => {
    const model = readModelFolder(unzipFiles(zipFiles(exported(), 'tiny')))
    expect(model.config).toEqual(modelConfigJson(options, 84))
    expect(model.tensors.get('transformer.wte.weight')).toEqual({ shape: [2, 2], values: Float32Array.of(1, 2, 3, 4) })
    expect(model.tokenizerFiles).toEqual(tokenizerFiles)
  })

  it.each([
    ['no config', (name: string) => name !== 'config.json', 'Cannot read the model folder: config.json is missing, need it'],
    ['no weights', (name: string) => name !== 'model.safetensors', 'Cannot read the model folder: model.safetensors is missing, need it as one file'],
  ])('refuses a folder with %s', (_, keep, message) => {
    expect(() => readModelFolder(exported().filter(({ name }) => keep(name)))).toThrow(message)
  })

  it('names the weights that it cannot read', () => {
    const files = exported().map((file) => (file.name === 'model.safetensors' ? { ...file, name: 'pytorch_model.bin' } : file))
    expect(() => readModelFolder(files)).toThrow('model.safetensors is missing (there is pytorch_model.bin), need it as one file')
  })

  it('refuses a damaged config and a second folder', () => {
    const files = exported().map((file) => (file.name === 'config.json' ? { ...file, bytes: Uint8Array.of(0x7b) } : file))
    expect(() => readModelFolder(files)).toThrow(/^Cannot read config.json: .*, need JSON$/)
    expect(() => readModelFolder([...exported(), { name: 'b/config.json', bytes: new Uint8Array() }])).toThrow('two of its files have one name')
  })
})

describe('modelFolder', () => {
  it('has the files that Hugging Face writes', () => {
    expect(exported().map(({ name }) => name)).toEqual([
      'README.md',
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'tokenizer.json',
      'tokenizer_config.json',
      'trainer_state.json',
      'training_args.json',
    ])
  })

  it('samples as the run did, or always takes the likeliest token', () => {
    expect(generationConfigJson({ block_size: 32, sample_temperature: 0.8, sample_top_k: 50, sample_top_p: 0.9 })).toEqual({
      do_sample: true,
      temperature: 0.8,
      top_k: 50,
      top_p: 0.9,
      max_length: 32,
    })
    expect(generationConfigJson({ block_size: 32, sample_temperature: 0, sample_top_k: 50, sample_top_p: 0.9 })).toEqual({ do_sample: false, max_length: 32 })
  })
})

describe('trainerStateJson', () => {
  it('has the history of the run and its summary', () => {
    expect(trainerStateJson(run)).toMatchObject({
      global_step: 2,
      epoch: 0.5,
      max_steps: 20,
      num_train_epochs: 1,
      train_batch_size: 4,
      num_input_tokens_seen: 2,
      log_history: [
        { loss: 3, grad_norm: 1, learning_rate: 1e-3, epoch: 0.25, step: 1 },
        { loss: 2, grad_norm: 1, learning_rate: 1e-3, epoch: 0.5, step: 2 },
        { eval_loss: 2.25, eval_perplexity: Math.exp(2.25), eval_runtime: 0.5, epoch: 0.5, step: 2 },
        { train_runtime: 0.2, train_samples_per_second: 10, train_steps_per_second: 10, train_loss: 2.5, epoch: 0.5, step: 2 },
      ],
    })
  })

  it('has no summary before the end', () => {
    expect(trainerStateJson({ ...run, finished: false, records: [], evaluations: [] })).toMatchObject({
      global_step: 0,
      epoch: 0,
      log_history: [],
    })
  })
})

describe('modelCard', () => {
  it('tells data, steps, losses and how to load the model', () => {
    const card = modelCard(facts)
    expect(card).toMatch(/^---\nlibrary_name: transformers\n/)
    expect(card).toContain('my\\|book.txt, 123,456 characters |')
    expect(card).toContain('| Training | 2 updates (0.5 epochs) on up to 2 ranks |')
    expect(card).toContain('| Training loss | 2 nats per character in the last update |\n| Validation loss | 2.25 nats per character after update 2 |\n')
    expect(card).toContain('Trained from random weights in browser tabs')
    expect(modelCard({ ...facts, startedFrom: 'checkpoint' })).toContain('Trained in browser tabs')
    expect(card).toContain('AutoModelForCausalLM.from_pretrained')
    expect(card).toContain('\n- gpt2\n')
    expect(modelCard({ ...facts, modelType: 'gpt_neox' })).toContain('# A GPT-NeoX trained on')
  })

  it('says when nothing was trained', () => {
    const card = modelCard({ ...facts, records: [], evaluations: [] })
    expect(card).toContain('| Training | none: these are the initial weights |')
    expect(card).not.toContain('Validation loss')
  })
})
