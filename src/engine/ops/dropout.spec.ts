import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine.ts'
import { checkOp, randomInput } from '../testing/check-op.ts'
import { openTestEngine } from '../testing/test-engine.ts'
import { add } from './add-tensors.ts'
import { dropout } from './dropout.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane', { poison: true })
})
afterAll(() => engine.close())

/** The words that the shader draws, from the definition. */
function mix(words: readonly number[]): number[] {
  let [x = 0, y = 0, z = 0, w = 0] = words.map((word) => Math.imul(word, 1664525) + 1013904223)
  const round = () => {
    x += Math.imul(y, w)
    y += Math.imul(z, x)
    z += Math.imul(x, y)
    w += Math.imul(y, z)
  }
  round()
  ;[x, y, z, w] = [x, y, z, w].map((word) => (word >>> 0) ^ (word >>> 16)) as [number, number, number, number]
  round()
  return [x, y, z, w].map((word) => word >>> 0)
}

interface Case {
  readonly rows: number
  readonly length: number
  readonly columns: number
  readonly share: number
  readonly rowKeys: readonly number[]
  readonly key: number
}

/** 0 where something is dropped, else what the rest is multiplied by. */
function factors({ rows, length, columns, share, rowKeys, key }: Case): Float64Array {
  return Float64Array.from({ length: rows * columns }, (_, index) => {
    const row = Math.floor(index / columns)
    const column = index % columns
    const sample = Math.floor(row / length)
    const words = mix([rowKeys[2 * sample] ?? 0, ((rowKeys[2 * sample + 1] ?? 0) ^ key) >>> 0, row % length, column >> 2])
    return (words[column & 3] ?? 0) >= Math.round(share * 2 ** 32) ? 1 / (1 - share) : 0
  })
}

const upload = ({ rowKeys, key, share }: Case) => ({
  share,
  rowKeys: engine.upload(Uint32Array.from(rowKeys), [rowKeys.length / 2, 2]),
  key: engine.upload(Uint32Array.of(key), [1]),
})

test('what is dropped follows from the keys, forward and backward, for any number of columns', async () => {
  for (const columns of [6, 8]) {
    const at: Case = { rows: 6, length: 3, columns, share: 0.4, rowKeys: [7, 11, 3_000_000_000, 5], key: 99 }
    const expected = factors(at)
    await checkOp(engine, {
      inputs: [randomInput([6, columns], 1)],
      run: ([x]) => {
        if (!x) throw new Error('no input')
        const once = dropout(x, upload(at))
        return add(once, dropout(x, upload({ ...at, key: 100 })))
      },
      reference: ([x]) => Float64Array.from(x ?? [], (value, index) => value * ((expected[index] ?? 0) + (factors({ ...at, key: 100 })[index] ?? 0))),
    })
  }
})

test('about the share is dropped, and other rows, positions and uses drop others', async () => {
  using _scope = engine.scope()
  const at: Case = { rows: 64, length: 32, columns: 256, share: 0.1, rowKeys: [1, 2, 1, 3], key: 5 }
  const ones = engine.upload(new Float32Array(64 * 256).fill(1), [64, 256])
  const dropped = (values: Float32Array) => values.map((value) => (value === 0 ? 1 : 0))
  const first = dropped(await dropout(ones, upload(at)).read())
  const other = dropped(await dropout(ones, upload({ ...at, key: 6 })).read())
  const share = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0) / values.length
  // Standard deviations: 0.0023 and, of a coincidence, 0.0008.
  expect(Math.abs(share(first) - 0.1)).toBeLessThan(0.01)
  const both = (a: Float32Array, b: Float32Array) => share(a.map((value, index) => value * (b[index] ?? 0)))
  expect(both(first, other)).toBeLessThan(0.014)
  expect(both(first.subarray(0, 32 * 256), first.subarray(32 * 256))).toBeLessThan(0.014)
  expect(both(first.subarray(0, -256), first.subarray(256))).toBeLessThan(0.014)
})
