import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { adapterConfigJson } from '../checkpoint/adapter-config.ts'
import { floatTensor } from '../checkpoint/float-tensors.ts'
import { writeSafetensors } from '../checkpoint/safetensors.ts'
import { writeAdapter } from '../checkpoint/adapter-weights.ts'
import { readWeights } from '../checkpoint/weights.ts'
import { parseOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { adapterStart } from './adapter-start.ts'
import { merge } from './merge-command.ts'
import { modelStart } from './model-start.ts'
import { resumeFrom } from './run-start.ts'
import { writeTestCheckpoint } from './testing/test-checkpoint.ts'

const MODEL = 'e2e/fixtures/golden/trainer/model'
const OPTIONS = parseOptions({ use_peft: true, lora_r: 4, lora_alpha: 8, lora_dropout: 0.1, lora_target_modules: 'q_proj, down_proj' })

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

/** An adapter of the golden Qwen3. */
function writeTestAdapter(path: string, baseModel: string | null): void {
  const ones = (rows: number, columns: number) => floatTensor(new Float32Array(rows * columns).fill(0.5), [rows, columns])
  const tensors = new Map(
    [0, 1].flatMap((layer) => {
      const [q, down] = [`model.layers.${layer}.self_attn.q_proj`, `model.layers.${layer}.mlp.down_proj`]
      return [
        [`${q}.lora_A.weight`, ones(4, 32)],
        [`${q}.lora_B.weight`, ones(32, 4)],
        [`${down}.lora_A.weight`, ones(4, 64)],
        [`${down}.lora_B.weight`, ones(32, 4)],
      ] as const
    }),
  )
  const { file, modules } = writeAdapter(writeSafetensors(tensors))
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'adapter_config.json'), JSON.stringify(adapterConfigJson({ options: OPTIONS, modules, baseModel, modelType: 'qwen3' })))
  writeFileSync(join(path, 'adapter_model.safetensors'), file)
}

it('an adapter brings its options, and the model that it names unless another is given', () => {
  writeTestAdapter(folder, MODEL)
  const start = adapterStart({ model: undefined, adapter: folder }, { max_steps: '3', lora_dropout: '0' })
  expect(start.options).toMatchObject({ use_peft: true, lora_r: 4, lora_alpha: 8, lora_dropout: 0, lora_target_modules: 'q_proj,down_proj', model_type: 'qwen3', max_steps: 3 })
  expect(start.baseModel).toBe(MODEL)
  expect(start.files.map((path) => basename(path))).toEqual(['config.json', 'model.safetensors', 'adapter_config.json', 'adapter_model.safetensors'])
  expect(() => adapterStart({ model: MODEL, adapter: folder }, { lora_r: '8' })).toThrow(`Cannot set lora_r to "8": need 4, as in adapter_config.json of ${folder}`)
  writeTestAdapter(folder, null)
  expect(() => adapterStart({ model: undefined, adapter: folder }, {})).toThrow(
    'Cannot set model to null: need the folder of the model that is adapted; the adapter does not name one',
  )
})

it('what is no adapter is refused, and an adapter in the place of a model', () => {
  expect(() => adapterStart({ model: MODEL, adapter: join(folder, 'none') }, {})).toThrow('need the folder of a LoRA adapter')
  expect(() => adapterStart({ model: MODEL, adapter: folder }, {})).toThrow(`Cannot set adapter to "${folder}": need a folder with adapter_config.json`)
  writeTestAdapter(folder, MODEL)
  expect(() => modelStart(folder, {})).toThrow('need the folder of a model; this is an adapter, which --adapter takes')
})

it('a checkpoint with an adapter is resumed on the model that it names, or that is given', () => {
  const resolved = resolveOptions({ ...OPTIONS, preset: 'none', max_steps: 4 })
  const path = writeTestCheckpoint(folder, 2, resolved)
  for (const name of ['config.json', 'model.safetensors']) rmSync(join(path, name))
  writeTestAdapter(path, MODEL)
  const start = resumeFrom(path, {})
  expect(start.options).toMatchObject({ use_peft: true, lora_target_modules: 'q_proj, down_proj' })
  const files = ['config.json', 'model.safetensors', 'optimizer.safetensors', 'training_state.json', 'adapter_config.json', 'adapter_model.safetensors']
  expect(start.files.map((file) => basename(file))).toEqual(files)
  expect(() => resumeFrom(path, { lora_r: '8' })).toThrow('Cannot set lora_r to 8: need 4, with which checkpoint-2 was trained')
  writeTestAdapter(path, join(folder, 'moved'))
  expect(() => resumeFrom(path, {})).toThrow(`need the folder of the model that the checkpoint adapts; ${join(folder, 'moved')}, which it names, is not there`)
  expect(resumeFrom(path, {}, { model: MODEL }).baseModel).toBe(MODEL)
})

it('merging writes the folder of a model, and nothing where there is something already', () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const adapter = join(folder, 'adapter')
  const outputDir = join(folder, 'merged')
  writeTestAdapter(adapter, MODEL)
  merge({ model: null, adapter, outputDir, overwrite: false })
  expect(existsSync(join(outputDir, 'config.json'))).toBe(true)
  const [before, after] = [MODEL, outputDir].map((path) => readWeights(readFileSync(join(path, 'model.safetensors'))))
  const name = 'model.layers.1.mlp.down_proj.weight'
  // scale 2, and four products of 0.5 and 0.5
  expect(after?.get(name)?.values).toEqual(before?.get(name)?.values.map((value) => value + 2))
  expect(after?.get('model.norm.weight')).toEqual(before?.get('model.norm.weight'))
  expect(() => merge({ model: null, adapter, outputDir, overwrite: false })).toThrow(
    `Cannot set output_dir to "${outputDir}": need an empty or new folder, or --overwrite_output_dir`,
  )
  expect(() => merge({ model: MODEL, adapter, outputDir: MODEL, overwrite: true })).toThrow("need another folder than the model's")
})
