import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../engine/engine.ts'
import { uploadTokens } from '../../engine/ops/embedding.ts'
import { randomValues } from '../../engine/testing/check-op.ts'
import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { goldenConfig } from '../../train/testing/golden.ts'
import { createModel, modelConfig } from './families.ts'

const SHAPE = { batch: 2, length: 7, vocabSize: 80 }
const IDS = Uint32Array.from({ length: 14 }, (_, at) => (at * at + 3) % 80)
const TARGETS = Int32Array.from({ length: 14 }, (_, at) => (at % 7 === 6 ? -100 : (at * 5) % 80))

/** Switches that the golden folders leave at their defaults. */
const CASES = [
  ['llama', { attention_bias: true, mlp_bias: true, tie_word_embeddings: true, head_dim: 6, hidden_act: 'gelu_new', num_key_value_heads: 1 }],
  ['stablelm', { use_parallel_residual: true, use_qkv_bias: true, num_key_value_heads: 2, partial_rotary_factor: 0.5, hidden_act: 'gelu' }],
  ['gpt_neox', { use_parallel_residual: false, attention_bias: false, tie_word_embeddings: true, hidden_act: 'gelu_fast' }],
  ['qwen3', { attention_bias: true, tie_word_embeddings: false, rope_parameters: { rope_type: 'yarn', rope_theta: 1000, factor: 4, original_max_position_embeddings: 16 } }],
  ['gpt2', { scale_attn_by_inverse_layer_idx: true, n_inner: 40, activation_function: 'gelu' }],
] as const

describe.each(['lane', 'shared'] as const)('on the %s profile', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  test.each(CASES)('the loss of %s with %j rises along its gradient by as much as the gradient says', async (family, switches) => {
    const model = createModel(engine, modelConfig({ ...goldenConfig(family), ...switches }))
    const { parameters } = model
    const start = randomValues(parameters.elements, 1).map((value) => 0.3 * value)
    const loss = async (values: Float64Array, withGradient: boolean): Promise<number> => {
      using _scope = engine.scope()
      engine.write(parameters.values, new Float32Array(values))
      const sum = engine.upload(new Float32Array(1), [1])
      const run = () => model.loss(uploadTokens(engine, IDS, SHAPE), engine.upload(TARGETS, [14]), sum)
      if (withGradient) engine.tape.backward(run())
      else engine.tape.withoutGradients(run)
      return (await sum.read())[0] ?? Number.NaN
    }
    await loss(start, true)
    const gradient = new Float32Array(await engine.readBytes(parameters.gradients, parameters.elements * 4))
    const slope = Math.hypot(...gradient)
    const step = 0.02 / slope
    const moved = (sign: number) => start.map((value, at) => value + (sign * step * (gradient[at] ?? 0)) / slope)
    const rise = ((await loss(moved(1), false)) - (await loss(moved(-1), false))) / (2 * step)
    expect(Math.abs(rise / slope - 1)).toBeLessThan(5e-3)
  })
})
