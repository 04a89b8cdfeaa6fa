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
const BINDING = /@group\(0\)\s*@binding\((\d+)\)\s*var<(storage|uniform)(?:,\s*(read|read_write))?>/g

/** @throws when a constant is not marked in the source, or a `@shape` constant is left without a value. */
export function specialise(kernel: Kernel, constants: Readonly<Record<string, number>>): Specialised {
  const left = new Set(Object.keys(constants))
  const code = kernel.source.replace(MARKED, (line, name: string, literal: string, tail: string) => {
    const value = constants[name]
    if (value === undefined) {
      if (tail.includes('@shape')) throw new Error(`Cannot specialise ${kernel.name}: shape constant ${name} has no value`)
      return line
    }
    left.delete(name)
    return `const ${name} = ${formatLike(literal.trim(), value)};${tail}`
  })
  if (left.size > 0) throw new Error(`Cannot specialise ${kernel.name}: it has no marked constant ${[...left].join(', ')}`)
  return { code, bindings: parseBindings(kernel, code) }
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
