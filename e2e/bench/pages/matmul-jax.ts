import { blockUntilReady, defaultDevice, init, jit, numpy as np } from '@jax-js/jax'
import { productOf, timeSecond, worstError } from '../support/products.ts'

let operands = []
let multiply

async function boot() {
  await init('webgpu')
  defaultDevice('webgpu')
}

async function prepare(m, n, k, form) {
  for (const operand of operands) operand.dispose()
  const product = productOf(m, n, k, form)
  const a = np.array(product.a).reshape(form === 'TN' ? [k, m] : [m, k])
  const b = np.array(product.b).reshape(form === 'NT' ? [n, k] : [k, n])
  operands = [a, b]
  await blockUntilReady(operands)
  multiply = jit((x, y) => np.matmul(form === 'TN' ? np.transpose(x) : x, form === 'NT' ? np.transpose(y) : y))
  const ms = await timeSecond(() => repeat(1))
  return { worst: worstError(product, await multiply(a.ref, b.ref).data()), ms }
}

async function repeat(times) {
  const results = Array.from({ length: times }, () => multiply(operands[0].ref, operands[1].ref))
  // Lazy: a result that is disposed before it was awaited is never computed.
  await blockUntilReady(results)
  for (const result of results) result.dispose()
}

Object.assign(globalThis, { bench: { boot, prepare, repeat } })
