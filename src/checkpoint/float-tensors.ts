import type { RawTensor } from './safetensors.ts'

/** A tensor of real numbers as f32. @throws for other types: a model that needs them is not one that this can run. */
export function floatValues(name: string, { dtype, data }: RawTensor): Float32Array<ArrayBuffer> {
  const copy = data.slice() // aligned
  switch (dtype) {
    case 'F32':
      return new Float32Array(copy.buffer)
    case 'F64':
      return Float32Array.from(new Float64Array(copy.buffer))
    case 'BF16':
      return fromBits(new Uint16Array(copy.buffer), (bits) => bits << 16)
    case 'F16':
      return Float32Array.from(new Uint16Array(copy.buffer), halfToNumber)
    default:
      throw new Error(`Cannot read tensor ${name}: its dtype is ${dtype}, need F32, F16, BF16 or F64`)
  }
}

/** f32 values as a tensor that can be written. */
export function floatTensor(values: Float32Array, shape: readonly number[]): RawTensor {
  return { dtype: 'F32', shape, data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) }
}

function fromBits(source: Uint16Array, toFloatBits: (bits: number) => number): Float32Array<ArrayBuffer> {
  const bits = Uint32Array.from(source, toFloatBits)
  return new Float32Array(bits.buffer)
}

/** IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const mantissa = bits & 0x3ff
  if (exponent === 0) return sign * mantissa * 2 ** -24
  if (exponent === 0x1f) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15)
}
