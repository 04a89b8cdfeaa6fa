import type { Module } from './module.ts'

/**
 * A module whose gradients are summed over ranks. It answers as the module does: its methods and attributes reach the inner one, which
 * is also `.module`.
 * @throws when nothing in it requires a gradient, as torch's DistributedDataParallel
 */
export function wrap<M extends Module>(model: M): M {
  const weights = [...model.namedWeights().values()]
  if (!weights.some(({ requiresGrad }) => requiresGrad)) {
    throw new Error(`Cannot wrap ${model.constructor.name}: none of its ${weights.length} parameters requires a gradient, need at least one`)
  }
  const bound = new WeakMap<object, unknown>()
  return new Proxy(model, {
    get(inner, key) {
      if (key === 'module') return inner
      const value: unknown = Reflect.get(inner, key, inner)
      if (typeof value !== 'function' || key === 'constructor') return value
      // A method sees the inner module: a proxy has no #private fields.
      if (!bound.has(value)) bound.set(value, value.bind(inner))
      return bound.get(value)
    },
    set: (inner, key, value) => Reflect.set(inner, key, value, inner),
  })
}
