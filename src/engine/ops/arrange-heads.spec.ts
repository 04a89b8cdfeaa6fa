import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../engine.ts'
import type { Tensor } from '../tensor.ts'
import { checkOp, randomInput } from '../testing/check-op.ts'
import { rotateReference } from '../testing/reference.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { arrangeHeads, type HeadLayout, type RotaryTable } from './arrange-heads.ts'

const angle = (position: number, pair: number): number => Math.fround((position + 1) * 0.7 ** pair)

function need(tensor: Tensor | undefined): Tensor {
  if (!tensor) throw new Error('an input is missing')
  return tensor
}

describe.each(['lane', 'shared'] as const)('rotary heads in the %s profile, on poisoned memory', (profile) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await openTestEngine(profile, { poison: true })
  })
  afterAll(() => engine.close())

  function tableOf(positions: number, half: number): RotaryTable {
    const turns = Array.from({ length: positions * half }, (_, at) => angle(Math.floor(at / half), at % half))
    const values = half === 0 ? engine.unused.read : engine.upload(new Float32Array(turns.flatMap((turn) => [Math.cos(turn), Math.sin(turn)])), [positions, half, 2])
    return { values, positions, half }
  }

  /** q, k, v: rows of the projections -> rows side by side */
  function reference(parts: readonly Float64Array[], { length, heads, kvHeads, headDim }: HeadLayout, rotary: number): Float64Array {
    const counts = [heads, kvHeads, kvHeads]
    const rows = (parts[0]?.length ?? 0) / (heads * headDim)
    const turned = parts.map((part, at) => rotateReference(part, { length, heads: counts[at] ?? 0, headDim, rotary: at === 2 ? 0 : rotary }, angle))
    return Float64Array.from(
      Array.from({ length: rows }, (_, row) => turned.flatMap((part, at) => [...part.subarray(row * (counts[at] ?? 0) * headDim, (row + 1) * (counts[at] ?? 0) * headDim)])).flat(),
    )
  }

  const cases = [
    [1, { length: 1, heads: 1, kvHeads: 1, headDim: 2 }, 2],
    [2, { length: 5, heads: 4, kvHeads: 2, headDim: 6 }, 6],
    [3, { length: 7, heads: 3, kvHeads: 1, headDim: 5 }, 2],
    [1, { length: 9, heads: 2, kvHeads: 2, headDim: 16 }, 4],
    [2, { length: 3, heads: 2, kvHeads: 1, headDim: 1 }, 0],
  ] as const
  it.each(cases)('batch %i, %j with %i rotated elements, from three projections, and their gradients', async (batch, layout, rotary) => {
    const rows = batch * layout.length
    const { heads, kvHeads, headDim } = layout
    await checkOp(engine, {
      inputs: [heads, kvHeads, kvHeads].map((count, at) => randomInput([rows, count * headDim], at + 1)),
      run: ([q, k, v]) => {
        const columns = (tensor: Tensor | undefined) => ({ tensor: need(tensor), start: 0, step: headDim })
        return arrangeHeads(columns(q), columns(k), columns(v), tableOf(layout.length + 2, rotary / 2), layout)
      },
      reference: (parts) => reference(parts, layout, rotary),
    })
  })

  it.each([
    [2, { length: 5, heads: 3, kvHeads: 3, headDim: 7 }, 4],
    [1, { length: 1, heads: 1, kvHeads: 1, headDim: 2 }, 2],
  ] as const)('batch %i, %j with %i rotated elements, from one projection head by head, and its gradient', async (batch, layout, rotary) => {
    const rows = batch * layout.length
    const { heads, headDim } = layout
    const part = (all: Float64Array, which: number) =>
      Float64Array.from({ length: rows * heads * headDim }, (_, at) => all[Math.floor(at / headDim) * 3 * headDim + which * headDim + (at % headDim)] ?? 0)
    await checkOp(engine, {
      inputs: [randomInput([rows, 3 * heads * headDim], 1)],
      run: ([qkv]) => {
        const columns = (which: number) => ({ tensor: need(qkv), start: which * headDim, step: 3 * headDim })
        return arrangeHeads(columns(0), columns(1), columns(2), tableOf(layout.length, rotary / 2), layout)
      },
      reference: ([all = new Float64Array()]) => reference([part(all, 0), part(all, 1), part(all, 2)], layout, rotary),
    })
  })

  it('refuses more positions than the table has, and projections that lack heads', () => {
    using _scope = engine.scope()
    const columns = { tensor: engine.empty([4, 8]), start: 0, step: 4 }
    expect(() => arrangeHeads(columns, columns, columns, tableOf(3, 1), { length: 4, heads: 2, kvHeads: 2, headDim: 4 })).toThrow('Cannot rotate 4 positions: the table has 3')
    expect(() => arrangeHeads(columns, columns, columns, tableOf(4, 1), { length: 4, heads: 3, kvHeads: 2, headDim: 4 })).toThrow(
      'Cannot arrange 3 heads of 4 from [4, 8]: need [4, at least 12]',
    )
  })
})
