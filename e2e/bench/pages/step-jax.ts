import { blockUntilReady, defaultDevice, init, jit, nn, numpy as np, tree, valueAndGrad } from '@jax-js/jax'
import { ADAMW, BATCH, batchOf, CONFIG, countDispatches, firstWeights, ITEMS, LEARNING_RATE, LENGTH } from '../support/model.ts'

// jax-js counts references by hand: `x.ref` keeps x alive for one more use.
const { width, heads, layers, vocabSize } = CONFIG
const headDim = width / heads
let mask
let parameters = {}
let means = {}
let squares = {}
let steps = 0
let trainStep

function layerNorm(x, weight, bias) {
  const centred = x.sub(np.mean(x.ref, -1, { keepdims: true }))
  const variance = np.mean(np.square(centred.ref), -1, { keepdims: true })
  return centred
    .mul(np.reciprocal(np.sqrt(variance.add(1e-5))))
    .mul(weight)
    .add(bias)
}

function gelu(x) {
  const inner = x.ref.add(x.ref.mul(x.ref).mul(x.ref).mul(0.044715)).mul(0.7978845608)
  return x.mul(0.5).mul(np.tanh(inner).add(1))
}

/** ids, targets: i32 [B * T], valid: f32 [B * T, 1] -> mean cross-entropy */
function lossOf(weights, ids, targets, valid) {
  const table = weights['transformer.wte.weight']
  // A one-hot product, as gathering has a slower gradient in jax-js.
  let x = np
    .matmul(nn.oneHot(ids, vocabSize), table.ref)
    .reshape([BATCH, LENGTH, width])
    .add(weights['transformer.wpe.weight'].ref)
    .reshape([BATCH * LENGTH, width])
  for (let layer = 0; layer < layers; layer++) {
    const get = (name) => weights[`transformer.h.${layer}.${name}`].ref
    const normed = layerNorm(x.ref, get('ln_1.weight'), get('ln_1.bias'))
    const joint = np.matmul(normed, get('attn.c_attn.weight')).add(get('attn.c_attn.bias'))
    const qkv = np.transpose(joint.reshape([BATCH, LENGTH, 3, heads, headDim]), [2, 0, 3, 1, 4])
    const [q, k, v] = [qkv.ref.slice(0), qkv.ref.slice(1), qkv.slice(2)]
    const scores = np
      .matmul(q, np.transpose(k, [0, 1, 3, 2]))
      .mul(1 / Math.sqrt(headDim))
      .add(mask.ref)
    const mixed = np.transpose(np.matmul(nn.softmax(scores, -1), v), [0, 2, 1, 3]).reshape([BATCH * LENGTH, width])
    x = x.add(np.matmul(mixed, get('attn.c_proj.weight')).add(get('attn.c_proj.bias')))
    const inner = gelu(np.matmul(layerNorm(x.ref, get('ln_2.weight'), get('ln_2.bias')), get('mlp.c_fc.weight')).add(get('mlp.c_fc.bias')))
    x = x.add(np.matmul(inner, get('mlp.c_proj.weight')).add(get('mlp.c_proj.bias')))
  }
  x = layerNorm(x, weights['transformer.ln_f.weight'].ref, weights['transformer.ln_f.bias'].ref)
  const logProbabilities = nn.logSoftmax(np.matmul(x, np.transpose(table.ref)), -1)
  const loss = logProbabilities
    .mul(nn.oneHot(targets, vocabSize))
    .mul(valid)
    .sum()
    .mul(-1 / ITEMS)
  tree.dispose(weights)
  return loss
}

function train(weights, m, v, ids, targets, valid, inverse1, inverse2) {
  const { beta1, beta2, epsilon, weightDecay } = ADAMW
  const [loss, gradients] = valueAndGrad(lossOf)(tree.ref(weights), ids, targets, valid)
  const next = { weights: {}, m: {}, v: {} }
  for (const name in weights) {
    const gradient = gradients[name]
    const first = m[name].mul(beta1).add(gradient.ref.mul(1 - beta1))
    const second = v[name].mul(beta2).add(np.square(gradient).mul(1 - beta2))
    next.m[name] = first.ref
    next.v[name] = second.ref
    let change = first.mul(inverse1.ref).div(np.sqrt(second.mul(inverse2.ref)).add(epsilon))
    if (weights[name].shape.length > 1) change = change.add(weights[name].ref.mul(weightDecay))
    next.weights[name] = weights[name].sub(change.mul(LEARNING_RATE))
  }
  inverse1.dispose?.()
  inverse2.dispose?.()
  return [loss, next.weights, next.m, next.v]
}

async function boot() {
  await init('webgpu')
  defaultDevice('webgpu')
  for (const { name, shape, data } of firstWeights()) {
    parameters[name] = np.array(data).reshape([...shape])
    means[name] = np.zeros([...shape])
    squares[name] = np.zeros([...shape])
  }
  const causal = Float32Array.from({ length: LENGTH * LENGTH }, (_, at) => (at % LENGTH <= Math.floor(at / LENGTH) ? 0 : -1e9))
  mask = np.array(causal).reshape([1, 1, LENGTH, LENGTH])
  trainStep = jit(train)
}

async function step() {
  const startedAt = performance.now()
  const [loss, dispatches] = await countDispatches(async () => {
    const { ids, targets, valid } = batchOf(steps++)
    const inverses = [1 / (1 - ADAMW.beta1 ** steps), 1 / (1 - ADAMW.beta2 ** steps)].map((value) => np.array(value))
    const batch = [np.array(Int32Array.from(ids)), np.array(targets), np.array(valid).reshape([BATCH * LENGTH, 1])]
    const results = trainStep(parameters, means, squares, ...batch, ...inverses)
    // Lazy: what is never awaited is never computed.
    await blockUntilReady(results)
    const [lossArray, ...state] = results
    ;[parameters, means, squares] = state
    return (await lossArray.data())[0]
  })
  return { ms: performance.now() - startedAt, loss, dispatches }
}

Object.assign(globalThis, { bench: { boot, step } })
