import fc from 'fast-check'
import { expect, it } from 'vitest'
import { floatTensor } from './float-tensors.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from './safetensors.ts'
import { INDEX_FILE, joinShards, parseShardIndex } from './shards.ts'

const tensor = (...values: number[]): RawTensor => floatTensor(Float32Array.from(values), [values.length])

function sharded(placed: Readonly<Record<string, Readonly<Record<string, RawTensor>>>>) {
  const weight_map = Object.fromEntries(Object.entries(placed).flatMap(([file, tensors]) => Object.keys(tensors).map((name) => [name, file])))
  return {
    index: { metadata: { total_size: 1 }, weight_map },
    files: new Map(Object.entries(placed).map(([file, tensors]) => [file, writeSafetensors(new Map(Object.entries(tensors)))])),
  }
}

it('shards become the file that they were cut from', () => {
  const whole = fc.dictionary(fc.stringMatching(/^[a-z.]{1,12}$/), fc.record({ shard: fc.nat(2), values: fc.array(fc.float({ noNaN: true }), { minLength: 1, maxLength: 5 }) }), {
    minKeys: 1,
  })
  fc.assert(
    fc.property(whole, (parts) => {
      const all = new Map(Object.entries(parts).map(([name, { values }]) => [name, tensor(...values)]))
      const placed: Record<string, Record<string, RawTensor>> = {}
      for (const [name, { shard, values }] of Object.entries(parts)) (placed[`model-${shard}.safetensors`] ??= {})[name] = tensor(...values)
      const { index, files } = sharded(placed)
      expect(joinShards(parseShardIndex(index), files)).toEqual(writeSafetensors(all))
    }),
  )
})

it.each([
  [{}, 'it has no weight_map, need one'],
  [{ weight_map: [] }, 'it has no weight_map, need one'],
  [{ weight_map: {} }, 'its weight_map is empty, need at least one tensor'],
  [{ weight_map: { a: '../x.safetensors' } }, 'tensor a is in "../x.safetensors", need the name of a .safetensors file beside it'],
  [{ weight_map: { a: '/etc/passwd' } }, 'tensor a is in "/etc/passwd"'],
  [{ weight_map: { a: 'x\\y.safetensors' } }, 'need the name of a .safetensors file beside it'],
  [{ weight_map: { a: 3 } }, 'tensor a is in 3'],
])('the index %j is refused', (json, message) => {
  expect(() => parseShardIndex(json)).toThrow(message)
})

it('shards that are not as the index says are refused by tensor and file', () => {
  const { index, files } = sharded({ 'a.safetensors': { x: tensor(1) }, 'b.safetensors': { y: tensor(2) } })
  const parsed = parseShardIndex(index)
  const read = (name: string, tensors: Readonly<Record<string, RawTensor>>) => new Map([...files, [name, writeSafetensors(new Map(Object.entries(tensors)))]])
  expect(readSafetensors(joinShards(parsed, files)).tensors.size).toBe(2)
  expect(() => joinShards(parsed, new Map([...files].slice(1)))).toThrow('Cannot read the model: a.safetensors is missing')
  expect(() => joinShards(parsed, read('b.safetensors', {}))).toThrow('Cannot read b.safetensors: tensor y is missing')
  expect(() => joinShards(parsed, read('b.safetensors', { x: tensor(1), y: tensor(2) }))).toThrow('Cannot read b.safetensors: it has tensor x, need it in a.safetensors only')
  expect(() => joinShards(parsed, read('b.safetensors', { z: tensor(1), y: tensor(2) }))).toThrow(`Cannot read b.safetensors: it has tensor z, need it in ${INDEX_FILE} too`)
  expect(() => joinShards(parsed, new Map([...files, ['b.safetensors', Uint8Array.of(1, 2)]]))).toThrow('b.safetensors: Cannot read the safetensors file: it has 2 bytes')
})
