import type { Engine } from '../../engine/engine.ts'
import type { Kernel } from '../../engine/kernel.ts'
import { Embedding } from '../embedding.ts'
import { Linear } from '../linear.ts'
import { type Loss, crossEntropy } from '../loss.ts'
import { Module } from '../module.ts'
import { type Weight, constant } from '../weight.ts'

/** Test-only: rows of three tokens; each token but the last predicts the next. */
export class ToyModel extends Module {
  readonly greeting = 'hello'
  readonly embedding = new Embedding(8, 8)
  readonly hidden = new Linear(8, 8)
  /** Used only when asked for: a layer that a rank may leave out. */
  readonly extra = new Linear(8, 8)
  readonly head = new Linear(8, 8, { bias: false })
  #calls = 0

  loss(rows: readonly (readonly number[])[], { withExtra = false }: { readonly withExtra?: boolean } = {}): Loss {
    const ids = Uint32Array.from(rows.flat())
    const targets = Int32Array.from(rows.flatMap((row) => [...row.slice(1), -100]))
    const embedded = this.embedding.forward(this.embedding.tokens(ids, { batch: rows.length, length: 3 }))
    const inner = this.hidden.forward(embedded, { activation: 'gelu-tanh', residual: embedded })
    return crossEntropy(withExtra ? this.extra.forward(inner, { residual: inner }) : inner, this.head.weight, targets)
  }

  /** A custom method that uses a #private field, which no proxy has. */
  predict(): string {
    this.#calls++
    return `${this.greeting} ${this.#calls}`
  }
}

/** Twelve rows, all different. */
export const TOY_ROWS: readonly (readonly number[])[] = Array.from({ length: 12 }, (_, row) => [row % 8, (3 * row + 1) % 8, (5 * row + 2) % 8])

const sum: Kernel = {
  name: 'sum-values',
  source: `// values: [COUNT] -> total: [1] plus their sum
const COUNT = 4u; // @shape
@group(0) @binding(0) var<storage, read> values: array<f32, COUNT>;
@group(0) @binding(1) var<storage, read_write> total: array<f32, 1>;
@compute @workgroup_size(1)
fn main() {
  for (var index = 0u; index < COUNT; index++) {
    total[0] += values[index];
  }
}
`,
}

/** Test-only: a scalar whose gradient is known without computing: each target adds its number to the loss and to the gradient. */
export class SumModel extends Module {
  readonly scalar: Weight = constant([1], 0)

  loss(engine: Engine, gradients: readonly number[]): Loss {
    const values = engine.upload(Float32Array.from(gradients), [gradients.length])
    const root = engine.empty([1])
    const total = engine.upload(new Float32Array(1), [1])
    engine.dispatch(sum, { COUNT: gradients.length }, [values, total], [1])
    const { tensor } = this.scalar
    engine.tape.record([tensor], root, [], () => {
      const target = engine.tape.target(tensor)
      if (target) engine.dispatch(sum, { COUNT: gradients.length }, [values, target.tensor], [1])
    })
    return { root, sum: total, items: gradients.length }
  }
}
