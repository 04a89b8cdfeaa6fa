import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findDuplicateKey } from './json-keys.ts'

it.each([
  ['{"a":1,"b":{"a":2}}', null],
  ['{"a":1, "a" : 2}', 'a'],
  ['{"x":[{"k":1},{"k":2}]}', null],
  ['{"x":{"k":1,"k":2}}', 'k'],
  ['{"a":"b","b":"a"}', null],
  ['{"a\\"":1,"a\\u0022":2}', 'a"'],
  ['{"a":"{\\"b\\":1,","b":1}', null],
])('the key that %s has twice is %s', (text, key) => {
  expect(findDuplicateKey(text)).toBe(key)
})

it('finds none in what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(findDuplicateKey(JSON.stringify(value))).toBeNull()
      expect(findDuplicateKey(JSON.stringify(value, null, 2))).toBeNull()
    }),
  )
})
