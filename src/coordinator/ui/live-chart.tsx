import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { REDRAW_MS } from '../../ui/use-throttled.ts'
import type { ChartHandle, Line } from './chart.ts'
import { type Columns, describeCurve } from './curves.ts'

interface ChartProps {
  readonly title: string
  readonly unit?: string
  readonly lines: readonly Line[]
  /** In CSS pixels. */
  readonly height: number
  /** A change of these makes the chart stale. */
  readonly watched: readonly ReadonlySignal<unknown>[]
  format(value: number): string
  read(): Columns
}

/** A chart that follows its signals, with a legend that reads the newest point or the one under the pointer. */
export function Chart({ title, unit, lines, height, watched, format, read }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const [data, setData] = useState<Columns>([])
  const [hovered, setHovered] = useState<number | null>(null)
  useEffect(() => {
    if (!host.current) return
    const settings = { lines, height, format, onHover: setHovered }
    return follow(host.current, { watched, read, open: async (at) => (await import('./chart.ts')).openChart(at, settings), drawn: setData })
  }, [])
  const steps = data[0] ?? []
  const at = hovered ?? steps.length - 1
  return (
    <div class="chart">
      <h3>
        {title} {unit && <small>{unit}</small>}
        {hovered !== null && <small> · update {steps[hovered]}</small>}
      </h3>
      <ul class="legend">
        {lines.map(({ label, color, dash, points }, index) => (
          <li key={label}>
            {lines.length > 1 && <Swatch color={color} dashed={dash !== undefined} dot={points === true} />}
            {lines.length > 1 && label} <strong>{reading(data[index + 1], at, hovered === null, format)}</strong>
          </li>
        ))}
      </ul>
      <div ref={host} class="plot" style={{ height: `${height}px` }} role="img" aria-label={describeCurve(title, steps, data[1] ?? [], format)} />
    </div>
  )
}

interface Followed {
  readonly watched: readonly ReadonlySignal<unknown>[]
  read(): Columns
  open(host: HTMLElement): Promise<ChartHandle>
  drawn(data: Columns): void
}

/** Redraws when something has changed and someone can see it, at most every REDRAW_MS. @returns what ends it. */
function follow(host: HTMLElement, { watched, read, open, drawn }: Followed): () => void {
  let chart: ChartHandle | null = null
  let stale = true
  let closed = false
  const stops = watched.map((signal) =>
    signal.subscribe(() => {
      stale = true
    }),
  )
  const draw = (): void => {
    if (!chart || !stale || document.hidden) return
    stale = false
    const data = read()
    chart.draw(data)
    drawn(data)
  }
  void open(host).then((opened) => {
    if (closed) return opened.close()
    chart = opened
    draw()
  })
  const timer = setInterval(draw, REDRAW_MS)
  return () => {
    closed = true
    clearInterval(timer)
    for (const stop of stops) stop()
    chart?.close()
  }
}

/** The value at a point; the newest one looks back over gaps. */
function reading(values: Columns[number] | undefined, at: number, back: boolean, format: (value: number) => string): string {
  if (!values) return '–'
  const value = back ? values.findLast((candidate) => candidate !== null) : values[at]
  return value === null || value === undefined ? '–' : format(value)
}

function Swatch({ color, dashed, dot }: { readonly color: string; readonly dashed: boolean; readonly dot: boolean }) {
  return (
    <svg viewBox="0 0 20 10" class="swatch" aria-hidden="true" style={{ color: `var(${color})` }}>
      {dot ? <circle cx="10" cy="5" r="4" fill="currentColor" /> : <path d="M0 5h20" stroke="currentColor" stroke-width="3" {...(dashed ? { 'stroke-dasharray': '5 3' } : {})} />}
    </svg>
  )
}
