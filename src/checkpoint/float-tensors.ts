import type { Dtype } from './dtypes.ts'
import type { RawTensor } from './safetensors.ts'

/** A tensor of real numbers as f32. @throws for other types: a model that needs them is not one that this can run. */
export function floatValues(name: string, { dtype, data }: RawTensor): Float32Array<ArrayBuffer> {
  const copy = new Uint8Array(data) // aligned; slice would not copy a Buffer of Node
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

/** As `floatValues` in float64: no type of floats loses anything. */
export function exactValues(name: string, tensor: RawTensor): Float64Array<ArrayBuffer> {
  return tensor.dtype === 'F64' ? new Float64Array(new Uint8Array(tensor.data).buffer) : Float64Array.from(floatValues(name, tensor))
}

/** f32 values as a tensor that can be written. */
export function floatTensor(values: Float32Array, shape: readonly number[]): RawTensor {
  return { dtype: 'F32', shape, data: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) }
}

/** Numbers in the type of a tensor, each rounded once, halves to even. @throws for types that are no floats. */
export function encodeFloats(name: string, dtype: Dtype, values: Float64Array<ArrayBuffer>): Uint8Array {
  switch (dtype) {
    case 'F32':
      return new Uint8Array(Float32Array.from(values).buffer)
    case 'F64':
      return new Uint8Array(values.buffer)
    case 'BF16':
      return new Uint8Array(Uint16Array.from(values, numberToBfloat).buffer)
    case 'F16':
      return new Uint8Array(Uint16Array.from(values, numberToHalf).buffer)
    default:
      throw new Error(`Cannot write tensor ${name}: its dtype is ${dtype}, need F32, F16, BF16 or F64`)
  }
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

/** 7 mantissa bits and float32's exponents. */
function numberToBfloat(value: number): number {
  return roundedBits(value, { mantissaBits: 7, minExponent: -126, maxExponent: 127 })
}

function numberToHalf(value: number): number {
  return roundedBits(value, { mantissaBits: 10, minExponent: -14, maxExponent: 15 })
}

interface FloatFormat {
  readonly mantissaBits: number
  /** Of normal numbers. */
  readonly minExponent: number
  readonly maxExponent: number
}

/** The bits of the nearest number of a 16-bit format. */
function roundedBits(value: number, { mantissaBits, minExponent, maxExponent }: FloatFormat): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const infinity = (maxExponent - minExponent + 2) << mantissaBits
  if (Number.isNaN(value)) return infinity | (1 << (mantissaBits - 1))
  if (!Number.isFinite(value)) return sign | infinity
  const size = Math.abs(value)
  if (size === 0) return sign
  const exponent = Math.max(minExponent, Math.floor(Math.log2(size)))
  // Subnormal numbers have the exponent of the smallest normal ones. A mantissa that rounds up to 2 carries into the exponent by itself.
  const units = nearestEven(size / 2 ** (exponent - mantissaBits))
  const bits = ((exponent - minExponent) << mantissaBits) + units
  return sign | Math.min(bits, infinity)
}

function nearestEven(value: number): number {
  const below = Math.floor(value)
  const rest = value - below
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below
}
