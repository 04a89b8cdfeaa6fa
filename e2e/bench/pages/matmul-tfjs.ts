import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-webgpu'
import { productOf, timeSecond, worstError } from '../support/products.ts'
import { finishTfjs } from '../support/tfjs.ts'

let operands = []
let multiply

async function boot() {
  await tf.setBackend('webgpu')
  await tf.ready()
}

async function prepare(m, n, k, form) {
  for (const operand of operands) operand.dispose()
  const product = productOf(m, n, k, form)
  const a = tf.tensor(product.a, form === 'TN' ? [k, m] : [m, k])
  const b = tf.tensor(product.b, form === 'NT' ? [n, k] : [k, n])
  operands = [a, b]
  multiply = () => tf.matMul(a, b, form === 'TN', form === 'NT')
  const ms = await timeSecond(() => repeat(1))
  const result = multiply()
  const worst = worstError(product, await result.data())
  result.dispose()
  return { worst, ms }
}

async function repeat(times) {
  for (let index = 0; index < times; index++) multiply().dispose()
  await finishTfjs()
}

Object.assign(globalThis, { bench: { boot, prepare, repeat } })
