import type { Engine } from '../../engine/engine.ts'
import { attention } from '../../engine/ops/attention.ts'
import { embedding, type TokenBatch } from '../../engine/ops/embedding.ts'
import { layerNorm } from '../../engine/ops/layer-norm.ts'
import type { ParameterSpec } from '../../engine/parameters.ts'
import type { Tensor } from '../../engine/tensor.ts'
import { type Layer, project } from '../layer.ts'
import { type CausalModel, causalModel } from '../model.ts'
import { createModelParameters, type ModelParameters } from '../model-parameters.ts'
import { type ModelLayout, TRAIN_ALL, type Training } from '../parameter-plan.ts'
import type { Gpt2Config } from './gpt2-config.ts'

interface Block {
  /** What attention scores are multiplied by. */
  readonly scale: number
  readonly norm1: Layer
  readonly qkv: Layer
  readonly attentionOut: Layer
  readonly norm2: Layer
  readonly mlpIn: Layer
  readonly mlpOut: Layer
}

const TOKENS = 'transformer.wte'
const POSITIONS = 'transformer.wpe'

/** GPT-2 (Radford et al. 2019) with Hugging Face's names and layouts: Conv1D weights are [in, out], the head is wte. */
export function createGpt2(engine: Engine, config: Gpt2Config, training: Training = TRAIN_ALL): CausalModel {
  const parameters = createModelParameters(engine, gpt2Layout(config), training)
  const { wte, wpe, blocks, finalNorm } = bind(parameters, config.attentionScales)
  const { epsilon, heads, headDim, activation } = config
  const layout = 'in-out'

  function block(x: Tensor, at: Block, { batch, length, documents, dropoutKeys }: TokenBatch): Tensor {
    const options = { layout, dropoutKeys } as const
    const qkv = project(layerNorm(x, at.norm1.weight, at.norm1.bias, { epsilon }), at.qkv, options)
    const mixed = attention(qkv, { batch, length, heads, kvHeads: heads, headDim, scale: at.scale, documents })
    const middle = project(mixed, at.attentionOut, { ...options, residual: x })
    const normed = layerNorm(middle, at.norm2.weight, at.norm2.bias, { epsilon })
    const inner = project(normed, at.mlpIn, { ...options, activation })
    return project(inner, at.mlpOut, { ...options, residual: middle })
  }

  function body(tokens: TokenBatch): Tensor {
    const embedded = embedding(tokens, wte, wpe)
    const hidden = blocks.reduce((x, at) => block(x, at, tokens), embedded)
    return layerNorm(hidden, finalNorm.weight, finalNorm.bias, { epsilon })
  }

  return causalModel(engine, { parameters, config, body, head: wte })
}

export function gpt2Layout(config: Gpt2Config): ModelLayout {
  return { specs: gpt2Parameters(config), weights: 'in-out', ends: [TOKENS, POSITIONS], defaultTargets: ['c_attn'] }
}

/** Embeddings first: the backward reaches them last, so buckets fill from the end. */
function gpt2Parameters({ vocabSize, positions, width, innerWidth, layers }: Gpt2Config): ParameterSpec[] {
  const specs: ParameterSpec[] = [
    { name: `${TOKENS}.weight`, shape: [vocabSize, width] },
    { name: `${POSITIONS}.weight`, shape: [positions, width] },
  ]
  const layer = (name: string, weight: readonly number[]) => {
    specs.push({ name: `${name}.weight`, shape: weight }, { name: `${name}.bias`, shape: weight.slice(-1) })
  }
  for (let index = 0; index < layers; index++) {
    const at = `transformer.h.${index}`
    layer(`${at}.ln_1`, [width])
    layer(`${at}.attn.c_attn`, [width, 3 * width])
    layer(`${at}.attn.c_proj`, [width, width])
    layer(`${at}.ln_2`, [width])
    layer(`${at}.mlp.c_fc`, [width, innerWidth])
    layer(`${at}.mlp.c_proj`, [innerWidth, width])
  }
  layer('transformer.ln_f', [width])
  return specs
}

function bind({ layer }: ModelParameters, scales: readonly number[]): { wte: Tensor; wpe: Tensor; blocks: Block[]; finalNorm: Layer } {
  const blocks = scales.map((scale, index): Block => {
    const at = `transformer.h.${index}`
    return {
      scale,
      norm1: layer(`${at}.ln_1`),
      qkv: layer(`${at}.attn.c_attn`),
      attentionOut: layer(`${at}.attn.c_proj`),
      norm2: layer(`${at}.ln_2`),
      mlpIn: layer(`${at}.mlp.c_fc`),
      mlpOut: layer(`${at}.mlp.c_proj`),
    }
  })
  return {
    wte: layer(TOKENS).weight,
    wpe: layer(POSITIONS).weight,
    blocks,
    finalNorm: layer('transformer.ln_f'),
  }
}
