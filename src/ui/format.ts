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
  return `${unit === 0 ? Math.round(scaled) : Number(scaled.toPrecision(2))}${units[unit]}`
}

export function bytes(value: number): string {
  return value < 1000 ? `${value} B` : `${compact(value)}B`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** 75 -> "1 min 15 s" */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

export function loss(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3)
}
