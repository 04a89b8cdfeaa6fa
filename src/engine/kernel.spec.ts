import { expect, test } from 'vitest'
import { specialise } from './kernel.ts'

const source = `const COUNT = 4u; // @shape
const TILE = 8u; // @tune
@group(0) @binding(0) var<storage, read> x: array<f32, COUNT>;
fn main() {
  for (var d = 0u; d < COUNT; d++) { // @unroll
    sum += x[d];
  }
}
`

test('a marked loop becomes one block for each round, its index a constant', () => {
  const { code } = specialise({ name: 'sum', source }, { COUNT: 2 })
  expect(code).toContain('  {\n    const d = 0u;\n    sum += x[d];\n  }\n  {\n    const d = 1u;\n    sum += x[d];\n  }\n}\n')
  expect(code).not.toContain('for (')
})

test('a long loop stays a loop', () => {
  expect(specialise({ name: 'sum', source }, { COUNT: 33 }).code).toContain('for (var d = 0u; d < COUNT; d++)')
})

test('a shape without a value, and a value without a constant, are refused', () => {
  expect(() => specialise({ name: 'sum', source }, {})).toThrow('Cannot specialise sum: shape constant COUNT has no value')
  expect(() => specialise({ name: 'sum', source }, { COUNT: 1, ROWS: 2 })).toThrow('Cannot specialise sum: it has no marked constant ROWS')
})
