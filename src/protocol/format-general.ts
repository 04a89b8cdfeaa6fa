const DIGITS = 4

/** Python's `f"{value:.4g}"`: four significant digits, ties to even, no trailing zeros, an exponent below 1e-4 and from 1e4 on. */
export function formatGeneral(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [mantissa, exponent] = roundHalfEven(value)
  if (exponent >= -4 && exponent < DIGITS) return stripZeros(Number(`${mantissa}e${exponent}`).toFixed(DIGITS - 1 - exponent))
  const sign = exponent < 0 ? '-' : '+'
  return `${stripZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** Digits enough to see that a double lies exactly between two results: one that does has far fewer. */
const EXACT_DIGITS = 60

/** JavaScript rounds exact ties up, Python to the even digit. */
function roundHalfEven(value: number): readonly [mantissa: string, exponent: number] {
  const exact = parts(value.toExponential(EXACT_DIGITS))
  const kept = exact.mantissa.replace('-', '').slice(0, DIGITS + 1)
  const rest = exact.mantissa.replace('-', '').slice(DIGITS + 1)
  const lastIsEven = Number(kept.at(-1)) % 2 === 0
  if (/^50*$/.test(rest) && lastIsEven) return [`${value < 0 ? '-' : ''}${kept}`, exact.exponent]
  const usual = parts(value.toExponential(DIGITS - 1))
  return [usual.mantissa, usual.exponent]
}

function parts(text: string): { readonly mantissa: string; readonly exponent: number } {
  const [mantissa = '', exponent = '0'] = text.split('e')
  return { mantissa, exponent: Number(exponent) }
}

function stripZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
