import { readFileSync } from 'node:fs'
import type { Engine } from '../../engine/engine.ts'
import type { NamedTensor } from '../../nn/named-tensors.ts'
import { loadTensors } from '../../nn/named-tensors.ts'
import { createModel, modelConfig } from '../../nn/models/families.ts'
import { fromHuggingFace } from '../../nn/models/from-hugging-face.ts'
import { valuesOf } from '../../nn/model-parameters.ts'
import { TRAIN_ALL, type Training } from '../../nn/parameter-plan.ts'
import type { MicroBatch } from '../batch-source.ts'

/** Test-only: the models, batches and curves that torch and transformers computed. */
const FOLDER = 'e2e/fixtures/golden'

export const GOLDEN_FAMILIES = ['gpt2', 'llama', 'gpt_neox', 'stablelm', 'qwen3'] as const
export type GoldenFamily = (typeof GOLDEN_FAMILIES)[number]

export interface GoldenRows {
  readonly input_ids: readonly (readonly number[])[]
  readonly labels: readonly (readonly number[])[]
}

export interface GoldenBatch extends GoldenRows {
  readonly loss_sum: number
  readonly num_items: number
  readonly loss: number
  readonly grad_norm: number
}

export interface GoldenStep {
  readonly step: number
  readonly loss: number
  readonly num_items: number
  readonly grad_norm: number
  readonly learning_rate: number
}

export interface GoldenCurve {
  readonly batches: readonly GoldenRows[]
  readonly linear_wd01: readonly GoldenStep[]
  readonly cosine_wd0: readonly GoldenStep[]
}

export function goldenBatch(family: GoldenFamily): GoldenBatch {
  return JSON.parse(readFileSync(`${FOLDER}/${family}/batch.json`, 'utf8'))
}

export function goldenCurve(family: GoldenFamily): GoldenCurve {
  return JSON.parse(readFileSync(`${FOLDER}/${family}/curve.json`, 'utf8'))
}

export function goldenConfig(family: GoldenFamily): Record<string, unknown> {
  return JSON.parse(readFileSync(`${FOLDER}/${family}/config.json`, 'utf8'))
}

export function goldenModel(engine: Engine, family: GoldenFamily, training: Training = TRAIN_ALL) {
  const config = modelConfig(goldenConfig(family))
  const model = createModel(engine, config, training)
  loadTensors(engine, valuesOf(model), fromHuggingFace(goldenTensors(family, 'model'), config))
  return model
}

export function goldenTensors(family: GoldenFamily, name: 'model' | 'grads' | 'logits'): Map<string, NamedTensor> {
  return goldenFile(`${family}/${name}.safetensors`)
}

/** The F32 tensors of a safetensors file: an u64 header length, a JSON header, the data. */
export function goldenFile(path: string): Map<string, NamedTensor> {
  const file = readFileSync(`${FOLDER}/${path}`)
  const start = 8 + Number(file.readBigUInt64LE(0))
  const header: Record<string, { shape: number[]; data_offsets: [number, number] }> = JSON.parse(file.toString('utf8', 8, start))
  const entries = Object.entries(header).filter(([key]) => key !== '__metadata__')
  return new Map(
    entries.map(
      ([
        key,
        {
          shape,
          data_offsets: [from, to],
        },
      ]) => [key, { shape, values: new Float32Array(new Uint8Array(file.subarray(start + from, start + to)).buffer) }],
    ),
  )
}

export function goldenJson<T>(path: string): T {
  return JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8')) as T
}

/** Rows as a micro-batch of exactly `rows` rows, padded with ignored ones. */
export function microBatchOf({ input_ids, labels }: GoldenRows, rows = input_ids.length): MicroBatch {
  const length = input_ids[0]?.length ?? 0
  const ids = new Uint32Array(rows * length)
  const flat = new Int32Array(rows * length).fill(-100)
  ids.set(input_ids.flat())
  flat.set(labels.flat())
  return { ids, labels: flat, starts: null }
}
