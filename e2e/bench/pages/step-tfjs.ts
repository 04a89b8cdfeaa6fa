import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-cpu'
import '@tensorflow/tfjs-backend-webgpu'
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops'
import '@tensorflow/tfjs-core/dist/register_all_gradients'
import { ADAMW, BATCH, batchOf, CONFIG, countDispatches, firstWeights, ITEMS, LEARNING_RATE, LENGTH } from '../support/model.ts'
import { finishTfjs } from '../support/tfjs.ts'

const { width, heads, layers, vocabSize } = CONFIG
const headDim = width / heads
const parameters = {}
const means = {}
const squares = {}
let mask
let steps = 0

function layerNorm(x, weight, bias) {
  const centred = x.sub(x.mean(-1, true))
  return centred.mul(centred.square().mean(-1, true).add(1e-5).rsqrt()).mul(weight).add(bias)
}

function gelu(x) {
  return tf.mul(x.mul(0.5), tf.add(1, tf.tanh(tf.mul(0.7978845608, x.add(x.mul(x).mul(x).mul(0.044715))))))
}

/** ids, targets: i32 [B * T]; valid: f32 [B * T] -> mean cross-entropy */
function lossOf(ids, targets, valid) {
  let x = tf.gather(parameters['transformer.wte.weight'], ids).add(tf.tile(parameters['transformer.wpe.weight'], [BATCH, 1]))
  for (let layer = 0; layer < layers; layer++) {
    const get = (name) => parameters[`transformer.h.${layer}.${name}`]
    const normed = layerNorm(x, get('ln_1.weight'), get('ln_1.bias'))
    const joint = tf.matMul(normed, get('attn.c_attn.weight')).add(get('attn.c_attn.bias'))
    const [q, k, v] = tf.unstack(joint.reshape([BATCH, LENGTH, 3, heads, headDim]).transpose([2, 0, 3, 1, 4]), 0)
    const weights = tf.softmax(
      tf
        .matMul(q, k, false, true)
        .mul(1 / Math.sqrt(headDim))
        .add(mask),
      -1,
    )
    const mixed = tf
      .matMul(weights, v)
      .transpose([0, 2, 1, 3])
      .reshape([BATCH * LENGTH, width])
    x = x.add(tf.matMul(mixed, get('attn.c_proj.weight')).add(get('attn.c_proj.bias')))
    const inner = gelu(tf.matMul(layerNorm(x, get('ln_2.weight'), get('ln_2.bias')), get('mlp.c_fc.weight')).add(get('mlp.c_fc.bias')))
    x = x.add(tf.matMul(inner, get('mlp.c_proj.weight')).add(get('mlp.c_proj.bias')))
  }
  x = layerNorm(x, parameters['transformer.ln_f.weight'], parameters['transformer.ln_f.bias'])
  const logits = tf.matMul(x, parameters['transformer.wte.weight'], false, true)
  const chosen = logits.mul(tf.oneHot(targets, vocabSize)).sum(-1)
  return logits.logSumExp(-1).sub(chosen).mul(valid).sum().div(ITEMS)
}

async function boot() {
  await tf.setBackend('webgpu')
  await tf.ready()
  for (const { name, shape, data } of firstWeights()) {
    parameters[name] = tf.variable(tf.tensor(data, [...shape]), true, name)
    means[name] = tf.variable(tf.zeros([...shape]), false)
    squares[name] = tf.variable(tf.zeros([...shape]), false)
  }
  const causal = Float32Array.from({ length: LENGTH * LENGTH }, (_, at) => (at % LENGTH <= Math.floor(at / LENGTH) ? 0 : -1e9))
  mask = tf.tensor(causal, [1, 1, LENGTH, LENGTH])
}

function train() {
  const { ids, targets, valid } = batchOf(steps++)
  const { beta1, beta2, epsilon, weightDecay } = ADAMW
  const validTensor = tf.tensor1d(valid)
  const targetTensor = tf.tensor1d(targets, 'int32')
  const idTensor = tf.tensor1d(Int32Array.from(ids), 'int32')
  const { value, grads } = tf.variableGrads(() => lossOf(idTensor, targetTensor, validTensor))
  for (const name in parameters) {
    const parameter = parameters[name]
    const mean = means[name].mul(beta1).add(grads[name].mul(1 - beta1))
    const square = squares[name].mul(beta2).add(grads[name].square().mul(1 - beta2))
    means[name].assign(mean)
    squares[name].assign(square)
    let change = mean.div(1 - beta1 ** steps).div(
      square
        .div(1 - beta2 ** steps)
        .sqrt()
        .add(epsilon),
    )
    if (parameter.shape.length > 1) change = change.add(parameter.mul(weightDecay))
    parameter.assign(parameter.sub(change.mul(LEARNING_RATE)))
  }
  return value
}

async function step() {
  const startedAt = performance.now()
  const [loss, dispatches] = await countDispatches(async () => {
    const value = tf.tidy(train)
    const [read] = await value.data()
    value.dispose()
    // The loss is there when the forward is: the updates may still be on their way.
    await finishTfjs()
    return read
  })
  return { ms: performance.now() - startedAt, loss, dispatches }
}

Object.assign(globalThis, { bench: { boot, step } })
