import * as v from 'valibot'
import { floatTensor } from '../checkpoint/float-tensors.ts'
import { type RawTensor, writeSafetensors } from '../checkpoint/safetensors.ts'
import { type FloatTensor, readWeights } from '../checkpoint/weights.ts'
import type { Engine } from '../engine/engine.ts'
import type { ParameterSlot } from '../engine/parameters.ts'
import type { Storage } from '../engine/storage.ts'
import { formatShape } from '../engine/tensor.ts'
import type { BoundModule } from './bind-module.ts'
import type { PreparedDataLoader } from './prepared-data-loader.ts'
import type { PreparedOptimizer } from './prepared-optimizer.ts'
import type { PreparedScheduler } from './prepared-scheduler.ts'
import type { RandomSource } from './random-source.ts'
import type { World } from './world.ts'

/** All that a script's next update depends on, in the order in which it was prepared. */
export interface SavedObjects {
  readonly models: readonly BoundModule[]
  readonly optimizers: readonly PreparedOptimizer[]
  readonly schedulers: readonly PreparedScheduler[]
  readonly loaders: readonly PreparedDataLoader<unknown>[]
  readonly random: RandomSource
}

const STATE_FILE = 'accelerator_state.json'
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const state = v.object({
  version: v.literal(1),
  /** Optimizers' steps, and the rates of their next ones. */
  optimizers: v.array(v.object({ committed: count, learning_rate: v.number() })),
  schedulers: v.array(count),
  loaders: v.array(v.object({ epoch: count, done: count })),
  /** Random numbers drawn, by rank. */
  random: v.array(count),
})

/** Numbers of a flat buffer, and what they are called in a file. */
interface Part {
  readonly storage: Storage
  readonly elements: number
  readonly slots: readonly ParameterSlot[]
  readonly suffix: string
}

/** Every rank calls it; the main rank writes, and the others wait for it. */
export async function saveState({ engine, group, files }: World, folder: string, objects: SavedObjects): Promise<void> {
  const random = (await group.gather([objects.random.drawn])).map(([drawn = 0]) => drawn)
  if (group.rank === 0) {
    const written = new Map<string, Uint8Array<ArrayBuffer>>()
    for (const [index, parts] of objects.models.map(modelParts).entries()) written.set(fileName('model', index), await pack(engine, parts))
    for (const [index, parts] of objects.optimizers.map(optimizerParts).entries()) written.set(fileName('optimizer', index), await pack(engine, parts))
    const json = {
      version: 1,
      optimizers: objects.optimizers.map(({ committed, learningRate }) => ({ committed, learning_rate: learningRate })),
      schedulers: objects.schedulers.map(({ position }) => position),
      loaders: objects.loaders.map((loader) => loader.state),
      random,
    } satisfies v.InferInput<typeof state>
    written.set(STATE_FILE, new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`))
    await files.saveFolder(folder, written)
  }
  await group.meet()
}

/** @throws before anything is changed, when the folder is not of these objects. */
export async function loadState({ engine, group, files }: World, folder: string, objects: SavedObjects): Promise<void> {
  const parsed = v.safeParse(state, JSON.parse(new TextDecoder().decode(await files.read(`${folder}/${STATE_FILE}`))))
  if (!parsed.success) throw new Error(`Cannot load the state of ${folder}: ${STATE_FILE} has a wrong ${parsed.issues[0].path?.map(({ key }) => String(key)).join('.')}`)
  const { optimizers, schedulers, loaders, random } = parsed.output
  for (const kind of ['optimizers', 'schedulers', 'loaders'] as const) {
    const has = parsed.output[kind].length
    if (has !== objects[kind].length) throw new Error(`Cannot load the state of ${folder}: it has ${has} ${kind}, need ${objects[kind].length} as prepared`)
  }
  const writes: (() => void)[] = []
  for (const [index, parts] of objects.models.map(modelParts).entries()) writes.push(unpack(engine, parts, await files.read(`${folder}/${fileName('model', index)}`)))
  for (const [index, parts] of objects.optimizers.map(optimizerParts).entries()) writes.push(unpack(engine, parts, await files.read(`${folder}/${fileName('optimizer', index)}`)))

  for (const write of writes) write()
  for (const [index, scheduler] of objects.schedulers.entries()) scheduler.position = schedulers[index] ?? 0
  for (const [index, optimizer] of objects.optimizers.entries()) {
    if (optimizer.inner) optimizer.inner.committed = optimizers[index]?.committed ?? 0
    optimizer.learningRate = optimizers[index]?.learning_rate ?? optimizer.learningRate
  }
  for (const [index, loader] of objects.loaders.entries()) loader.resume(loaders[index] ?? { epoch: 0, done: 0 })
  objects.random.drawn = random[group.rank] ?? 0
  await group.meet()
}

function fileName(kind: 'model' | 'optimizer', index: number): string {
  return index === 0 ? `${kind}.safetensors` : `${kind}_${index}.safetensors`
}

function modelParts({ trainable, frozen }: BoundModule): Part[] {
  return [trainable, frozen].flatMap((part) => (part ? [{ storage: part.values, elements: part.elements, slots: part.slots, suffix: '' }] : []))
}

function optimizerParts({ inner, seat }: PreparedOptimizer): Part[] {
  if (!inner || !seat) return []
  const { elements, slots } = seat.parameters
  return inner.state.map(({ name, storage }) => ({ storage, elements, slots, suffix: `.${name}` }))
}

async function pack(engine: Engine, parts: readonly Part[]): Promise<Uint8Array<ArrayBuffer>> {
  const tensors = new Map<string, RawTensor>()
  for (const { storage, elements, slots, suffix } of parts) {
    const flat = new Float32Array(await engine.readBytes(storage, elements * 4))
    for (const { name, shape, offset, length } of slots) tensors.set(`${name}${suffix}`, floatTensor(flat.subarray(offset, offset + length), shape))
  }
  return writeSafetensors(tensors)
}

/** Checks the file, and returns what writes it to the GPU. */
function unpack(engine: Engine, parts: readonly Part[], file: Uint8Array): () => void {
  const tensors = readWeights(file)
  const flats = parts.map((part) => ({ storage: part.storage, flat: flatten(part, tensors) }))
  const [extra] = tensors.keys()
  if (extra !== undefined) throw new Error(`Cannot load the state: nothing is called ${extra} (${tensors.size} extra)`)
  return () => {
    for (const { storage, flat } of flats) engine.write(storage, flat)
  }
}

/** Takes the part's tensors out of `tensors`. */
function flatten({ elements, slots, suffix }: Part, tensors: Map<string, FloatTensor>): Float32Array<ArrayBuffer> {
  const flat = new Float32Array(elements)
  for (const { name, shape, offset } of slots) {
    const key = `${name}${suffix}`
    const tensor = tensors.get(key)
    if (!tensor) throw new Error(`Cannot load the state: tensor ${key} is missing, need one of shape ${formatShape(shape)}`)
    if (formatShape(tensor.shape) !== formatShape(shape)) throw new Error(`Cannot load ${key}: its shape is ${formatShape(tensor.shape)}, need ${formatShape(shape)}`)
    flat.set(tensor.values, offset)
    tensors.delete(key)
  }
  return flat
}
