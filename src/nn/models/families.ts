import type { Engine } from '../../engine/engine.ts'
import type { CausalModel } from '../model.ts'
import { type ModelLayout, TRAIN_ALL, type Training } from '../parameter-plan.ts'
import type { DecoderConfig } from './decoder-config.ts'
import { createDecoder, decoderLayout } from './decoder.ts'
import { gptNeoxConfig } from './gpt-neox.ts'
import { gpt2Config, type Gpt2Config } from './gpt2-config.ts'
import { createGpt2, gpt2Layout } from './gpt2.ts'
import { llamaConfig, mistralConfig, qwen2Config } from './llama.ts'
import { qwen3Config } from './qwen3.ts'
import { stablelmConfig } from './stablelm.ts'

export type ModelConfig = Gpt2Config | DecoderConfig

type Json = Readonly<Record<string, unknown>>

/** Readers of `config.json` by its model_type. */
const READERS: Readonly<Record<string, (json: Json) => ModelConfig>> = {
  gpt2: gpt2Config,
  llama: llamaConfig,
  mistral: mistralConfig,
  qwen2: qwen2Config,
  qwen3: qwen3Config,
  stablelm: stablelmConfig,
  gpt_neox: gptNeoxConfig,
}

/** Reads a parsed `config.json`. @throws for another family, and for a switch that is not computed, by name and value. */
export function modelConfig(json: Json): ModelConfig {
  const type = json['model_type']
  const read = typeof type === 'string' && Object.hasOwn(READERS, type) ? READERS[type] : undefined
  if (!read) throw new Error(`Cannot use this config: model_type is ${JSON.stringify(type) ?? 'missing'}, need one of ${Object.keys(READERS).join(', ')}`)
  return read(json)
}

/** A model with parameters under Hugging Face's names; their values are zero. @throws when `training` names what is not there. */
export function createModel(engine: Engine, config: ModelConfig, training: Training = TRAIN_ALL): CausalModel {
  return config.kind === 'gpt2' ? createGpt2(engine, config, training) : createDecoder(engine, config, training)
}

export function modelLayout(config: ModelConfig): ModelLayout {
  return config.kind === 'gpt2' ? gpt2Layout(config) : decoderLayout(config)
}
