/** 1234567 -> "1.2 M": for people; three digits or fewer stay whole. */
export function compact(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const units = ['', ' k', ' M', ' G', ' T']
  let scaled = value
  let unit = 0
  while (Math.abs(scaled) >= 999.5 && unit < units.length - 1) {
    scaled /= 1000
    unit++
  }
  return `${unit === 0 ? Math.round(scaled) : Number(scaled.toPrecision(scaled >= 99.5 ? 3 : 2))}${units[unit]}`
}

/** 2400000 -> "2.4 MB" */
export function bytes(value: number): string {
  return value < 999.5 ? `${Math.round(value)} B` : `${compact(value)}B`
}

/** 1234 -> "1,234", as English is written whatever the device's language. */
export function whole(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '–'
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${Math.round(share * 100)} %` : '–'
}

/** 75 -> "1 min 15 s" */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  const rounded = Math.max(0, Math.round(seconds))
  if (rounded < 60) return `${rounded} s`
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${rounded % 60} s`
  return `${Math.floor(rounded / 3600)} h ${Math.floor((rounded % 3600) / 60)} min`
}

export function loss(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3)
}

/** Few digits for an axis or a reading: 0.00123 -> "1.2e-3", 1234 -> "1.2 k". */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size >= 1000) return compact(value)
  if (size > 0 && size < 0.01) return value.toExponential(1).replace('.0e', 'e')
  return Number(value.toPrecision(3)).toString()
}
