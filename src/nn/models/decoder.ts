import type { Engine } from '../../engine/engine.ts'
import { type HeadColumns, arrangeHeads } from '../../engine/ops/arrange-heads.ts'
import { attention } from '../../engine/ops/attention.ts'
import { embedding, type TokenBatch } from '../../engine/ops/embedding.ts'
import { gated } from '../../engine/ops/gated.ts'
import { layerNorm, rmsNorm } from '../../engine/ops/layer-norm.ts'
import type { ParameterSpec } from '../../engine/parameters.ts'
import type { Tensor } from '../../engine/tensor.ts'
import { type Layer, type ProjectOptions, project } from '../layer.ts'
import { type CausalModel, causalModel } from '../model.ts'
import { createModelParameters } from '../model-parameters.ts'
import { type ModelLayout, TRAIN_ALL, type Training } from '../parameter-plan.ts'
import { createRotaryTable } from '../rotary.ts'
import type { DecoderConfig } from './decoder-config.ts'

type LayerAt = (name: string) => Layer

/** Llama, Qwen3, StableLM and GPT-NeoX: one decoder whose switches the config sets. */
export function createDecoder(engine: Engine, config: DecoderConfig, training: Training = TRAIN_ALL): CausalModel {
  const parameters = createModelParameters(engine, decoderLayout(config), training)
  const { layer } = parameters
  const { names } = config
  const table = layer(names.embedding).weight
  const head = config.tied ? table : layer(names.head).weight
  const finalNorm = layer(names.finalNorm)
  const blocks = Array.from(
    { length: config.layers },
    (_, index): LayerAt =>
      (name) =>
        layer(`${names.blocks}.${index}.${name}`),
  )
  const attend = createAttention(engine, config)

  function block(x: Tensor, at: LayerAt, tokens: TokenBatch): Tensor {
    const normed = norm(x, at(names.norm1), config)
    const attended = project(attend(normed, at, tokens), at(names.attentionOut), { ...linears(tokens), residual: x })
    if (config.residual === 'parallel-shared-norm') return mlp(normed, at, { config, tokens, residual: attended })
    const second = norm(config.residual === 'serial' ? attended : x, at(names.norm2), config)
    return mlp(second, at, { config, tokens, residual: attended })
  }

  function body(tokens: TokenBatch): Tensor {
    const hidden = blocks.reduce((x, at) => block(x, at, tokens), embedding(tokens, table, null))
    return norm(hidden, finalNorm, config)
  }

  return causalModel(engine, { parameters, config, body, head })
}

/** x: [B * T, C] -> the mixed heads [B * T, H * D] */
function createAttention(engine: Engine, config: DecoderConfig): (x: Tensor, at: LayerAt, tokens: TokenBatch) => Tensor {
  const { names, heads, kvHeads, headDim } = config
  const rotary = createRotaryTable(engine, config.rotary, config.positions)

  function projections(x: Tensor, at: LayerAt, options: ProjectOptions): readonly [HeadColumns, HeadColumns, HeadColumns] {
    if ('fused' in names.qkv) {
      const tensor = project(x, at(names.qkv.fused), options)
      const part = (index: number) => ({ tensor, start: index * headDim, step: 3 * headDim })
      return [part(0), part(1), part(2)]
    }
    const { query, key, value } = names.qkv
    const normed = (name: string, normName: string, parts: number): Tensor => {
      const projected = project(x, at(name), options)
      return config.queryKeyNorm ? rmsNorm(projected, at(normName).weight, { epsilon: config.epsilon, parts }) : projected
    }
    const whole = (tensor: Tensor) => ({ tensor, start: 0, step: headDim })
    return [whole(normed(query, names.queryNorm, heads)), whole(normed(key, names.keyNorm, kvHeads)), whole(project(x, at(value), options))]
  }

  return (x, at, tokens) => {
    const { batch, length, documents } = tokens
    const qkv = arrangeHeads(...projections(x, at, linears(tokens)), rotary, { length, heads, kvHeads, headDim, documents })
    return attention(qkv, { batch, length, heads, kvHeads, headDim, scale: 1 / Math.sqrt(headDim), documents })
  }
}

interface MlpOptions {
  readonly config: DecoderConfig
  readonly tokens: TokenBatch
  readonly residual: Tensor
}

/** x: [R, C] -> the MLP of x, added to the residual: [R, C] */
function mlp(x: Tensor, at: LayerAt, { config, tokens, residual }: MlpOptions): Tensor {
  const { kind, activation } = config.mlp
  const { gate, up, down } = config.names
  const options = linears(tokens)
  const inner = kind === 'gated' ? gated(project(x, at(gate), options), project(x, at(up), options), activation) : project(x, at(up), { ...options, activation })
  return project(inner, at(down), { ...options, residual })
}

function norm(x: Tensor, { weight, bias }: Layer, { norm: kind, epsilon }: DecoderConfig): Tensor {
  return kind === 'rms' ? rmsNorm(x, weight, { epsilon }) : layerNorm(x, weight, bias, { epsilon })
}

/** What all linear layers of a forward have in common. */
function linears({ dropoutKeys }: TokenBatch): ProjectOptions {
  return { layout: 'out-in', dropoutKeys }
}

export function decoderLayout(config: DecoderConfig): ModelLayout {
  const { embedding: table, head, qkv } = config.names
  const targets = 'fused' in qkv ? [qkv.fused] : [qkv.query, qkv.value]
  return { specs: decoderParameters(config), weights: 'out-in', ends: [table, head], defaultTargets: targets }
}

/** The embedding first and the head last: the backward goes from the end, so buckets fill from there. */
function decoderParameters(config: DecoderConfig): ParameterSpec[] {
  const { names, vocabSize, width, innerWidth, headDim } = config
  const queries = config.heads * headDim
  const keys = config.kvHeads * headDim
  const specs: ParameterSpec[] = [{ name: `${names.embedding}.weight`, shape: [vocabSize, width] }]
  const layer = (name: string, weight: readonly number[], bias: boolean) => {
    specs.push({ name: `${name}.weight`, shape: weight })
    if (bias) specs.push({ name: `${name}.bias`, shape: weight.slice(0, 1) })
  }
  const norms = (name: string) => layer(name, [width], config.norm === 'layer')
  for (let index = 0; index < config.layers; index++) {
    const at = (name: string) => `${names.blocks}.${index}.${name}`
    norms(at(names.norm1))
    if ('fused' in names.qkv) layer(at(names.qkv.fused), [queries + 2 * keys, width], config.qkvBias)
    else {
      layer(at(names.qkv.query), [queries, width], config.qkvBias)
      layer(at(names.qkv.key), [keys, width], config.qkvBias)
      layer(at(names.qkv.value), [keys, width], config.qkvBias)
    }
    if (config.queryKeyNorm) for (const name of [names.queryNorm, names.keyNorm]) layer(at(name), [headDim], false)
    layer(at(names.attentionOut), [width, queries], config.attentionOutBias)
    if (config.residual !== 'parallel-shared-norm') norms(at(names.norm2))
    if (config.mlp.kind === 'gated') layer(at(names.gate), [innerWidth, width], config.mlpBias)
    layer(at(names.up), [innerWidth, width], config.mlpBias)
    layer(at(names.down), [width, innerWidth], config.mlpBias)
  }
  norms(names.finalNorm)
  if (!config.tied) layer(names.head, [vocabSize, width], false)
  return specs
}
