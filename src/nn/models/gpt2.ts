import type { Engine } from '../../engine/engine.ts'
import { attention } from '../../engine/ops/attention.ts'
import { embedding, type TokenBatch } from '../../engine/ops/embedding.ts'
import { layerNorm } from '../../engine/ops/layer-norm.ts'
import { linear } from '../../engine/ops/linear.ts'
import { createParameters, type FlatParameters, type ParameterSpec } from '../../engine/parameters.ts'
import type { Parameter, Tensor } from '../../engine/tensor.ts'
import { type CausalModel, causalModel } from '../model.ts'
import type { Gpt2Config } from './gpt2-config.ts'

interface Layer {
  readonly weight: Parameter
  readonly bias: Parameter
}

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

/** GPT-2 (Radford et al. 2019) with Hugging Face's names and layouts: Conv1D weights are [in, out], the head is wte. */
export function createGpt2(engine: Engine, config: Gpt2Config): CausalModel {
  const parameters = createParameters(engine, gpt2Parameters(config))
  const { wte, wpe, blocks, finalNorm } = bind(parameters, config.attentionScales)
  const { epsilon, heads, headDim, activation } = config
  const layout = 'in-out'

  function block(x: Tensor, at: Block, { batch, length, documents }: TokenBatch): Tensor {
    const qkv = linear(layerNorm(x, at.norm1.weight, at.norm1.bias, { epsilon }), at.qkv.weight, at.qkv.bias, { layout })
    const mixed = attention(qkv, { batch, length, heads, kvHeads: heads, headDim, scale: at.scale, documents })
    const middle = linear(mixed, at.attentionOut.weight, at.attentionOut.bias, { layout, residual: x })
    const normed = layerNorm(middle, at.norm2.weight, at.norm2.bias, { epsilon })
    const inner = linear(normed, at.mlpIn.weight, at.mlpIn.bias, { layout, activation })
    return linear(inner, at.mlpOut.weight, at.mlpOut.bias, { layout, residual: middle })
  }

  function body(tokens: TokenBatch): Tensor {
    const embedded = embedding(tokens, wte, wpe)
    const hidden = blocks.reduce((x, at) => block(x, at, tokens), embedded)
    return layerNorm(hidden, finalNorm.weight, finalNorm.bias, { epsilon })
  }

  return causalModel(engine, { parameters, config, body, head: wte })
}

/** Embeddings first: the backward reaches them last, so buckets fill from the end. */
export function gpt2Parameters({ vocabSize, positions, width, innerWidth, layers }: Gpt2Config): ParameterSpec[] {
  const specs: ParameterSpec[] = [
    { name: 'transformer.wte.weight', shape: [vocabSize, width] },
    { name: 'transformer.wpe.weight', shape: [positions, width] },
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

function bind({ byName }: FlatParameters, scales: readonly number[]): { wte: Parameter; wpe: Parameter; blocks: Block[]; finalNorm: Layer } {
  const parameter = (name: string): Parameter => {
    const found = byName.get(name)
    if (!found) throw new Error(`Cannot build GPT-2: parameter ${name} is missing`)
    return found
  }
  const layer = (name: string): Layer => ({ weight: parameter(`${name}.weight`), bias: parameter(`${name}.bias`) })
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
    wte: parameter('transformer.wte.weight'),
    wpe: parameter('transformer.wpe.weight'),
    blocks,
    finalNorm: layer('transformer.ln_f'),
  }
}
