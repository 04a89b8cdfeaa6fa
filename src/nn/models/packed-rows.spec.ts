import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../engine/engine.ts'
import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { GOLDEN_FAMILIES, goldenModel } from '../../train/testing/golden.ts'
import { uploadMicroBatch } from '../../train/upload-micro-batch.ts'
import type { MicroBatch } from '../../train/batch-source.ts'
import type { CausalModel } from '../model.ts'
import { splitSlots } from '../named-tensors.ts'

/** Rows of documents' lengths. */
const PACKED = [[5, 1, 9, 6], [14, 7], [21]]
const LENGTH = 21
const DOCUMENTS = PACKED.flat()

const idOf = (document: number, t: number): number => (document * 17 + t * t * 3 + t * 5) % 80

/** Documents by rows; a change moves the ids of one document. */
function batchOf(rows: readonly (readonly number[])[], { packed, changed = -1 }: { readonly packed: boolean; readonly changed?: number }): MicroBatch {
  const ids = new Uint32Array(rows.length * LENGTH)
  const labels = new Int32Array(ids.length).fill(-100)
  const starts = new Uint32Array(ids.length)
  let document = 0
  for (const [row, lengths] of rows.entries()) {
    let start = 0
    for (const length of lengths) {
      for (let t = 0; t < length; t++) {
        const at = row * LENGTH + start + t
        ids[at] = (idOf(document, t) + (document === changed ? 1 : 0)) % 80
        labels[at] = t % 4 === 3 ? -100 : (ids[at] ?? 0)
        starts[at] = start
      }
      start += length
      document++
    }
  }
  return { ids, labels, starts: packed ? starts : null }
}

interface Outcome {
  readonly lossSum: number
  readonly items: number
  readonly gradients: ReadonlyMap<string, { readonly values: Float32Array }>
  /** Logits of the documents' tokens, document by document. */
  readonly logits: readonly Float32Array[]
}

async function outcomeOf(model: CausalModel, rows: readonly (readonly number[])[], batch: MicroBatch): Promise<Outcome> {
  const { engine, parameters, vocabSize } = model
  using _scope = engine.scope()
  engine.clear(parameters.gradients)
  const lossSum = engine.upload(new Float32Array(1), [1])
  const { tokens, targets, items } = uploadMicroBatch(model, batch, { batch: rows.length, length: LENGTH })
  engine.tape.backward(model.loss(tokens, targets, lossSum))
  const gradients = splitSlots(parameters, new Float32Array(await engine.readBytes(parameters.gradients, parameters.elements * 4)))
  const flat = await engine.tape.withoutGradients(() => model.logits(model.forward(tokens))).read()
  const logits = rows.flatMap((lengths, row) =>
    lengths.map((length, at) => {
      const start = row * LENGTH + lengths.slice(0, at).reduce((sum, one) => sum + one, 0)
      return flat.slice(start * vocabSize, (start + length) * vocabSize)
    }),
  )
  return { lossSum: (await lossSum.read())[0] ?? Number.NaN, items, gradients, logits }
}

/** The designs of the attention are proved by its own spec; here, one family of each kind of position is enough for GPUs. */
const cases = GOLDEN_FAMILIES.flatMap((family) =>
  (family === 'gpt2' || family === 'llama' ? (['lane', 'shared'] as const) : (['lane'] as const)).map((profile) => [family, profile] as const),
)

describe.each(cases)('packed rows of %s on the %s profile', (family, profile) => {
  let engine: Engine
  let model: CausalModel
  let packed: Outcome
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
    model = goldenModel(engine, family)
    packed = await outcomeOf(model, PACKED, batchOf(PACKED, { packed: true }))
  })
  afterAll(() => engine.close())

  test('give the loss, logits and gradients of their documents in rows of their own', async () => {
    const alone = DOCUMENTS.map((length) => [length])
    const apart = await outcomeOf(model, alone, batchOf(alone, { packed: false }))
    expect(packed.items).toBe(apart.items)
    expect(Math.abs(packed.lossSum / apart.lossSum - 1)).toBeLessThan(1e-5)
    for (const [document, logits] of apart.logits.entries()) {
      const worst = logits.reduce((most, value, at) => Math.max(most, Math.abs(value - (packed.logits[document]?.[at] ?? Number.NaN))), 0)
      expect(worst, `logits of document ${document}`).toBeLessThan(1e-4)
    }
    for (const [name, { values }] of apart.gradients) {
      const difference = Math.hypot(...values.map((value, at) => value - (packed.gradients.get(name)?.values[at] ?? Number.NaN)))
      expect(difference / Math.hypot(...values), name).toBeLessThan(1e-4)
    }
  })

  test('do not let a document change anything in another', async () => {
    const changed = 2
    const { logits } = await outcomeOf(model, PACKED, batchOf(PACKED, { packed: true, changed }))
    for (const document of DOCUMENTS.keys()) {
      if (document === changed) expect(logits[document]).not.toEqual(packed.logits[document])
      else expect(logits[document]).toEqual(packed.logits[document])
    }
  })
})

test('starts that are not those of documents one after another are refused', async () => {
  const engine = await openTestEngine('lane')
  try {
    const model = goldenModel(engine, 'gpt2')
    const upload = (...starts: number[]) => {
      const batch = { ids: new Uint32Array(4), labels: new Int32Array(4), starts: Uint32Array.from(starts) }
      return () => uploadMicroBatch(model, batch, { batch: 2, length: 2 })
    }
    expect(upload(0, 1, 0)).toThrow('Cannot pack rows with 3 starts: need 2 x 2')
    expect(upload(0, 1, 1, 1)).toThrow('Cannot pack row 1: the document of position 0 starts at 1, need 0 or 0')
    expect(upload(0, 0, 0, 1)).not.toThrow()
  } finally {
    engine.close()
  }
})
