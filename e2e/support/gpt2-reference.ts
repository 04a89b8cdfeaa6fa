import type { LoadedModel } from '../../src/checkpoint/hf-folder.ts'

/**
 * Mean loss in nats of a GPT-2 folder on rows of ids, every id predicted but the first of a row. Plain float64, written from the
 * published architecture and sharing nothing with the engine: what it computes from a saved folder is what others will compute.
 */
export function gpt2Loss({ config, tensors }: LoadedModel, rows: readonly ArrayLike<number>[]): number {
  const model = new Gpt2(config, tensors)
  let sum = 0
  let items = 0
  for (const ids of rows) {
    const hidden = model.hidden(ids)
    for (let position = 0; position + 1 < ids.length; position++) {
      sum -= model.logProbability(hidden[position] ?? [], ids[position + 1] ?? 0)
      items++
    }
  }
  return sum / items
}

type Vector = ArrayLike<number>

class Gpt2 {
  readonly #config: LoadedModel['config']
  readonly #tensors: LoadedModel['tensors']

  constructor(config: LoadedModel['config'], tensors: LoadedModel['tensors']) {
    this.#config = config
    this.#tensors = tensors
  }

  /** The final norm's output at each position. */
  hidden(ids: ArrayLike<number>): Vector[] {
    let x: Vector[] = Array.from({ length: ids.length }, (_, at) => add(this.#row('wte', ids[at] ?? 0), this.#row('wpe', at)))
    for (let layer = 0; layer < this.#number('n_layer'); layer++) x = this.#block(x, `h.${layer}`)
    return x.map((row) => this.#norm(row, 'ln_f'))
  }

  logProbability(hidden: Vector, id: number): number {
    const logits = Array.from({ length: this.#number('vocab_size') }, (_, token) => dot(hidden, this.#row('wte', token)))
    const largest = Math.max(...logits)
    return (logits[id] ?? Number.NaN) - largest - Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0))
  }

  #block(x: readonly Vector[], at: string): Vector[] {
    const mixed = this.#attention(x.map((row) => this.#linear(this.#norm(row, `${at}.ln_1`), `${at}.attn.c_attn`)))
    const middle = x.map((row, index) => add(row, this.#linear(mixed[index] ?? [], `${at}.attn.c_proj`)))
    return middle.map((row) => {
      const inner = this.#linear(this.#norm(row, `${at}.ln_2`), `${at}.mlp.c_fc`)
      return add(row, this.#linear(Array.from(inner, gelu), `${at}.mlp.c_proj`))
    })
  }

  #attention(qkv: readonly Vector[]): Vector[] {
    const width = this.#number('n_embd')
    const size = width / this.#number('n_head')
    const part = (row: number, which: number, head: number): number[] => Array.from(qkv[row] ?? []).slice(which * width + head * size, which * width + (head + 1) * size)
    return qkv.map((_, position) =>
      Array.from({ length: this.#number('n_head') }, (_head, head) => {
        const scores = Array.from({ length: position + 1 }, (_key, key) => dot(part(position, 0, head), part(key, 1, head)) / Math.sqrt(size))
        const largest = Math.max(...scores)
        const weights = scores.map((score) => Math.exp(score - largest))
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        return Array.from({ length: size }, (_value, d) => weights.reduce((sum, weight, key) => sum + (weight / total) * (part(key, 2, head)[d] ?? 0), 0))
      }).flat(),
    )
  }

  /** Conv1D: weight [in, out]. */
  #linear(x: Vector, name: string): number[] {
    const { shape, values } = this.#tensor(`${name}.weight`)
    const columns = shape[1] ?? 0
    const out = Array.from(this.#tensor(`${name}.bias`).values)
    for (let row = 0; row < x.length; row++)
      for (let column = 0; column < columns; column++) out[column] = (out[column] ?? 0) + (x[row] ?? 0) * (values[row * columns + column] ?? 0)
    return out
  }

  #norm(x: Vector, name: string): number[] {
    const row = Array.from(x)
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length
    const weight = this.#tensor(`${name}.weight`).values
    const bias = this.#tensor(`${name}.bias`).values
    return row.map((value, at) => ((value - mean) / Math.sqrt(variance + this.#number('layer_norm_epsilon'))) * (weight[at] ?? 0) + (bias[at] ?? 0))
  }

  #row(name: string, index: number): Vector {
    const { shape, values } = this.#tensor(`${name}.weight`)
    const columns = shape[1] ?? 0
    return values.subarray(index * columns, (index + 1) * columns)
  }

  #tensor(name: string): { readonly shape: readonly number[]; readonly values: Float32Array } {
    const found = this.#tensors.get(`transformer.${name}`)
    if (!found) throw new Error(`the folder has no transformer.${name}`)
    return found
  }

  #number(name: string): number {
    return Number(this.#config[name])
  }
}

function gelu(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

function add(a: Vector, b: Vector): number[] {
  return Array.from(a, (value, at) => value + (b[at] ?? 0))
}

function dot(a: Vector, b: Vector): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}
