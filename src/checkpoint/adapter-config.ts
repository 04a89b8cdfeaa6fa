import { parseNames } from '../protocol/option-checks.ts'
import type { TrainingOptions } from '../protocol/options.ts'

export const ADAPTER_CONFIG_FILE = 'adapter_config.json'
export const ADAPTER_FILE = 'adapter_model.safetensors'

type Json = Readonly<Record<string, unknown>>

/** What PEFT's adapter_config.json says of a LoRA adapter. */
export interface AdapterConfig {
  readonly rank: number
  readonly alpha: number
  readonly dropout: number
  /** Scaled by alpha / sqrt(rank) instead of alpha / rank. */
  readonly rankStabilised: boolean
  /** Names of modules or their ends; null where a regular expression stands for them. */
  readonly targets: readonly string[] | null
  /** The path or repository name of the model that is adapted. */
  readonly baseModel: string | null
}

/** Keys that say where the adapter comes from, or that are read below; their values do not change what is computed otherwise. */
const READ: ReadonlySet<string> = new Set([
  'auto_mapping',
  'base_model_name_or_path',
  'exclude_modules',
  'fan_in_fan_out',
  'inference_mode',
  'lora_alpha',
  'lora_dropout',
  'megatron_core',
  'peft_version',
  'qalora_group_size',
  'r',
  'revision',
  'runtime_config',
  'target_modules',
  'use_rslora',
])

/** What other keys must be; those that are neither here nor above must be off: null, false, or empty. */
const NEEDED: Readonly<Record<string, readonly unknown[]>> = {
  peft_type: ['LORA'],
  task_type: ['CAUSAL_LM', null, undefined],
  bias: ['none', undefined],
  // The other ways change the weights of the model that is adapted.
  init_lora_weights: [true, false, 'gaussian', 'orthogonal', 'eva', undefined],
}

/** @throws with the first key that is wrong, or that changes the arithmetic in a way that is not computed here. */
export function parseAdapterConfig(json: Json): AdapterConfig {
  for (const [key, allowed] of Object.entries(NEEDED)) {
    if (!allowed.includes(json[key]))
      refuse(
        key,
        json[key],
        allowed
          .filter((value) => value !== undefined)
          .map(shown)
          .join(', '),
      )
  }
  for (const [key, value] of Object.entries(json)) {
    if (!READ.has(key) && !Object.hasOwn(NEEDED, key) && !isOff(value)) refuse(key, value, 'null, false or nothing in it: it is not computed here')
  }
  const rank = json['r']
  if (typeof rank !== 'number' || !Number.isSafeInteger(rank) || rank < 1) return refuse('r', rank, 'a whole number from 1')
  const alpha = json['lora_alpha']
  if (typeof alpha !== 'number' || !(alpha > 0)) return refuse('lora_alpha', alpha, 'a number above 0')
  const dropout = json['lora_dropout'] ?? 0
  if (typeof dropout !== 'number' || !(dropout >= 0 && dropout < 1)) return refuse('lora_dropout', dropout, 'a number from 0 to below 1')
  const rankStabilised = json['use_rslora'] ?? false
  if (typeof rankStabilised !== 'boolean') return refuse('use_rslora', rankStabilised, 'true or false')
  const baseModel = json['base_model_name_or_path'] ?? null
  if (baseModel !== null && typeof baseModel !== 'string') return refuse('base_model_name_or_path', baseModel, 'a text')
  return { rank, alpha, dropout, rankStabilised, targets: targetsOf(json['target_modules']), baseModel }
}

function targetsOf(value: unknown): readonly string[] | null {
  if (typeof value === 'string') return null
  if (Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')) return value
  return refuse('target_modules', value, 'names of modules')
}

/** `modules`: names of all that are adapted. */
export interface WrittenAdapter {
  readonly options: Pick<TrainingOptions, 'lora_r' | 'lora_alpha' | 'lora_dropout' | 'use_rslora' | 'lora_target_modules'>
  readonly modules: readonly string[]
  readonly baseModel: string | null
  readonly modelType: string
}

/** adapter_config.json as PEFT writes it. */
export function adapterConfigJson({ options, modules, baseModel, modelType }: WrittenAdapter): Json {
  const named = parseNames(options.lora_target_modules)
  return {
    alpha_pattern: {},
    auto_mapping: null,
    base_model_name_or_path: baseModel,
    bias: 'none',
    corda_config: null,
    eva_config: null,
    exclude_modules: null,
    // Of Conv1D, whose weights are [in, out].
    fan_in_fan_out: modelType === 'gpt2',
    inference_mode: true,
    init_lora_weights: true,
    layer_replication: null,
    layers_pattern: null,
    layers_to_transform: null,
    loftq_config: {},
    lora_alpha: options.lora_alpha,
    lora_bias: false,
    lora_dropout: options.lora_dropout,
    megatron_config: null,
    megatron_core: 'megatron.core',
    modules_to_save: null,
    peft_type: 'LORA',
    r: options.lora_r,
    rank_pattern: {},
    revision: null,
    target_modules: named.length > 0 && !named.includes('all-linear') ? named : lastNames(modules),
    target_parameters: null,
    task_type: 'CAUSAL_LM',
    trainable_token_indices: null,
    use_dora: false,
    use_qalora: false,
    use_rslora: options.use_rslora,
  }
}

/** The options with which a run trains such an adapter further. */
export function adapterOptions({ rank, alpha, dropout, rankStabilised, targets }: AdapterConfig, modules: readonly string[]): Partial<TrainingOptions> {
  return {
    use_peft: true,
    lora_r: rank,
    lora_alpha: alpha,
    lora_dropout: dropout,
    use_rslora: rankStabilised,
    lora_target_modules: (targets ?? lastNames(modules)).join(','),
  }
}

function lastNames(modules: readonly string[]): string[] {
  return [...new Set(modules.map((name) => name.slice(name.lastIndexOf('.') + 1)))].sort()
}

function isOff(value: unknown): boolean {
  return value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0)
}

function refuse(key: string, value: unknown, need: string): never {
  throw new Error(`Cannot use this adapter: ${key} is ${value === undefined ? 'missing' : shown(value)}, need ${need}`)
}

function shown(value: unknown): string {
  return JSON.stringify(value)
}
