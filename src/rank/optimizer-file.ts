import { floatTensor } from '../checkpoint/float-tensors.ts'
import { type RawTensor, writeSafetensors } from '../checkpoint/safetensors.ts'
import { readWeights } from '../checkpoint/weights.ts'
import type { Engine } from '../engine/engine.ts'
import type { FlatParameters } from '../engine/parameters.ts'
import { formatShape } from '../engine/tensor.ts'
import { splitSlots } from '../nn/named-tensors.ts'
import type { Optimizer } from '../optim/optimizer.ts'

/** optimizer.safetensors: what the optimizer remembers of each parameter, by names as torch's. */

interface Trained {
  readonly engine: Engine
  readonly model: { readonly parameters: FlatParameters }
  readonly optimizer: Optimizer
}

export async function packOptimizer({ engine, model, optimizer }: Trained): Promise<Uint8Array<ArrayBuffer>> {
  const { parameters } = model
  const tensors = new Map<string, RawTensor>()
  const reads = optimizer.state.map(async ({ name: kind, storage }) => [kind, new Float32Array(await engine.readBytes(storage, parameters.elements * 4))] as const)
  for (const [kind, flat] of await Promise.all(reads)) {
    for (const [name, { shape, values }] of splitSlots(parameters, flat)) tensors.set(`${name}.${kind}`, floatTensor(values, shape))
  }
  return writeSafetensors(tensors)
}

/** @throws on a missing, extra or misshaped tensor, before anything is written. */
export function restoreOptimizer({ engine, model, optimizer }: Trained, file: Uint8Array): void {
  const { slots, elements } = model.parameters
  const tensors = readWeights(file)
  const restored = optimizer.state.map(({ name: kind, storage }) => {
    const flat = new Float32Array(elements)
    for (const { name, shape, offset } of slots) {
      const key = `${name}.${kind}`
      const tensor = tensors.get(key)
      if (!tensor) throw new Error(`Cannot restore the optimizer: tensor ${key} is missing, need one of shape ${formatShape(shape)}`)
      if (formatShape(tensor.shape) !== formatShape(shape)) throw new Error(`Cannot restore ${key}: its shape is ${formatShape(tensor.shape)}, need ${formatShape(shape)}`)
      flat.set(tensor.values, offset)
      tensors.delete(key)
    }
    return [storage, flat] as const
  })
  const [extra] = tensors.keys()
  if (extra !== undefined) throw new Error(`Cannot restore the optimizer: it has no parameter for ${extra} (${tensors.size} extra)`)
  for (const [storage, flat] of restored) engine.write(storage, flat)
}
