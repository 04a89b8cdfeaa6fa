const BYTES = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const

/** The types of safetensors that take whole bytes. */
export type Dtype = keyof typeof BYTES

export function isDtype(value: unknown): value is Dtype {
  return typeof value === 'string' && Object.hasOwn(BYTES, value)
}

export function dtypeBytes(dtype: Dtype): number {
  return BYTES[dtype]
}
