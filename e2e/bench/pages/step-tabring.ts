import { Engine } from '../../../src/engine/engine.ts'
import { openDevice } from '../../../src/engine/open-device.ts'
import { createGpt2 } from '../../../src/nn/models/gpt2.ts'
import { AdamW } from '../../../src/optim/adamw.ts'
import { GradNorm } from '../../../src/optim/grad-norm.ts'
import { GradientSync } from '../../../src/parallel/ddp.ts'
import type { Reducer } from '../../../src/parallel/reducer.ts'
import { compileKernels } from '../../../src/train/compile.ts'
import { LossSlots } from '../../../src/train/loss-slots.ts'
import { runUpdate, type Trainee } from '../../../src/train/update.ts'
import { ADAMW, BATCH, batchOf, CONFIG, firstWeights, ITEMS, LEARNING_RATE, LENGTH } from '../support/model.ts'

const alone: Reducer = { rank: 0, worldSize: 1, allReduce: () => Promise.resolve(), allGather: (mine) => Promise.resolve([mine]) }
let trainee: Trainee | null = null
let update = 0

async function boot(): Promise<void> {
  const { device, profile } = await openDevice(navigator.gpu, { onError: (message) => console.error(message) })
  const engine = new Engine(device, { profile })
  const model = createGpt2(engine, CONFIG)
  const flat = new Float32Array(model.parameters.elements)
  const offsets = new Map(model.parameters.slots.map(({ name, offset }) => [name, offset]))
  for (const { name, data } of firstWeights()) flat.set(data, offsets.get(name))
  engine.write(model.parameters.values, flat)
  trainee = {
    engine,
    model,
    optimizer: new AdamW(engine, model.parameters, ADAMW),
    norm: new GradNorm(engine, model.parameters),
    losses: new LossSlots(engine),
    sync: new GradientSync(engine, model.parameters, { capBytes: 2 ** 22, firstCapBytes: 2 ** 20 }),
    source: () => {
      const { ids } = batchOf(update)
      return { ids, labels: Int32Array.from(ids), starts: null }
    },
    shape: { batch: BATCH, length: LENGTH },
    maxGradNorm: 0,
  }
  await compileKernels(trainee)
}

async function step(): Promise<{ ms: number; loss: number; dispatches: number }> {
  if (!trainee) throw new Error('Cannot step: boot first')
  const { engine } = trainee
  const startedAt = performance.now()
  const window = { update, microBatches: [Array.from({ length: BATCH }, (_, row) => row)], numItems: ITEMS, learningRate: LEARNING_RATE }
  const before = engine.counts.dispatches
  const report = await runUpdate(trainee, alone, window)
  await engine.idle()
  update++
  return { ms: performance.now() - startedAt, loss: report.lossSum / ITEMS, dispatches: engine.counts.dispatches - before }
}

Object.assign(globalThis, { bench: { boot, step } })
