import { Engine, type Scope } from '../../../src/engine/engine.ts'
import { openDevice } from '../../../src/engine/open-device.ts'
import { matmul } from '../../../src/engine/ops/matmul.ts'
import { type Form, productOf, timeSecond, worstError } from '../support/products.ts'

let engine: Engine
let scope: Scope | null = null
let enqueue: () => void = () => {}

async function boot(): Promise<void> {
  const { device, profile } = await openDevice(navigator.gpu, { onError: (message) => console.error(message) })
  engine = new Engine(device, { profile })
}

async function prepare(m: number, n: number, k: number, form: Form): Promise<{ worst: number; ms: number }> {
  scope?.[Symbol.dispose]()
  scope = engine.scope()
  const product = productOf(m, n, k, form)
  const a = engine.upload(product.a, [m * k])
  const b = engine.upload(product.b, [k * n])
  const out = engine.empty([m, n])
  enqueue = () => matmul(engine, { form, m, n, k, a, b, out })
  const ms = await timeSecond(() => repeat(1))
  return { worst: worstError(product, await out.read()), ms }
}

async function repeat(times: number): Promise<void> {
  for (let index = 0; index < times; index++) enqueue()
  await engine.idle()
}

Object.assign(globalThis, { bench: { boot, prepare, repeat } })
