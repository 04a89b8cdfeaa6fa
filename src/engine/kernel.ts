/**
 * WGSL kernels are whole files, valid as they stand. Their marked constants are rewritten for each use:
 * `const ROWS = 64u; // @shape`, `const TILE = 8u; // @tune`, `const EPILOGUE = 0u; // @variant`.
 * Static shapes let the compiler drop bounds arithmetic: a load from a runtime-sized array costs 2.5 times as much on SwiftShader.
 */
export interface Kernel {
  readonly name: string
  readonly source: string
}

export type BindingAccess = 'read-only-storage' | 'storage' | 'uniform'

export interface Specialised {
  readonly code: string
  /** Access of binding 0, 1, ... in group 0. */
  readonly bindings: readonly BindingAccess[]
}

const MARKED = /^const (\w+)(?:: \w+)? = ([^;]+);(\s*\/\/ @(?:shape|tune|variant).*)$/gm
/** `for (var d = 0u; d < COUNT; d++) { // @unroll`, with COUNT a marked constant. */
const LOOP = /^( *)for \(var (\w+) = 0u; \2 < (\w+); \2\+\+\) \{ \/\/ @unroll\n([\s\S]*?)^\1\}\n/gm
/** Longer loops stay loops: their code would take too long to compile. */
const MAX_UNROLL = 32
const BINDING = /@group\(0\)\s*@binding\((\d+)\)\s*var<(storage|uniform)(?:,\s*(read|read_write))?>/g

/** @throws when a constant is not marked in the source, or a `@shape` constant is left without a value. */
export function specialise(kernel: Kernel, constants: Readonly<Record<string, number>>): Specialised {
  const left = new Set(Object.keys(constants))
  const shaped = kernel.source.replace(MARKED, (line, name: string, literal: string, tail: string) => {
    const value = constants[name]
    if (value === undefined) {
      if (tail.includes('@shape')) throw new Error(`Cannot specialise ${kernel.name}: shape constant ${name} has no value`)
      return line
    }
    left.delete(name)
    return `const ${name} = ${formatLike(literal.trim(), value)};${tail}`
  })
  const code = unroll(shaped, constants)
  if (left.size > 0) throw new Error(`Cannot specialise ${kernel.name}: it has no marked constant ${[...left].join(', ')}`)
  return { code, bindings: parseBindings(kernel, code) }
}

/**
 * Repeats the bodies of marked loops, the index a constant in each. Private arrays that are only indexed by constants live in
 * registers; an index that varies makes each access a gather from memory.
 */
function unroll(code: string, constants: Readonly<Record<string, number>>): string {
  return code.replace(LOOP, (loop: string, indent: string, index: string, bound: string, body: string) => {
    const count = constants[bound]
    if (count === undefined || count > MAX_UNROLL) return loop
    return Array.from({ length: count }, (_, at) => `${indent}{\n${indent}  const ${index} = ${at}u;\n${body}${indent}}\n`).join('')
  })
}

function formatLike(literal: string, value: number): string {
  if (literal === 'true' || literal === 'false') return value === 0 ? 'false' : 'true'
  if (/^-?\d+u$/.test(literal)) return `${value}u`
  if (/^-?\d+i?$/.test(literal)) return literal.endsWith('i') ? `${value}i` : `${value}`
  return `f32(${value.toExponential(9)})`
}

function parseBindings(kernel: Kernel, code: string): BindingAccess[] {
  const found: BindingAccess[] = []
  for (const match of code.matchAll(BINDING)) {
    found[Number(match[1])] = match[2] === 'uniform' ? 'uniform' : match[3] === 'read_write' ? 'storage' : 'read-only-storage'
  }
  for (let index = 0; index < found.length; index++) {
    if (found[index] === undefined) throw new Error(`Cannot bind ${kernel.name}: binding ${index} is missing`)
  }
  return found
}
