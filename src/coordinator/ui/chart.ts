import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** The only door to uplot. Colours are names of custom properties, read anew when the page's scheme changes. */
export interface Line {
  readonly label: string
  readonly color: `--${string}`
  readonly width: number
  readonly dash?: readonly number[]
  /** Dots instead of a line. */
  readonly points?: boolean
}

export interface ChartSettings {
  readonly lines: readonly Line[]
  readonly height: number
  format(value: number): string
  /** The point under the pointer, or null when it has left. */
  onHover(index: number | null): void
}

export interface ChartHandle {
  /** x and one array for each line; null leaves a gap. */
  draw(data: readonly (readonly (number | null)[])[]): void
  close(): void
}

/** Narrower ones have no room for an axis. */
const MIN_WIDTH = 160
/** The shortest run that is drawn over the whole width. */
const MIN_UPDATES = 10

/** A live chart that fills its host's width. */
export function openChart(host: HTMLElement, { lines, height, format, onHover }: ChartSettings): ChartHandle {
  const style = getComputedStyle(host)
  const color = (name: string): string => style.getPropertyValue(name).trim()
  const axis: uPlot.Axis = {
    stroke: () => color('--chart-ink'),
    grid: { stroke: () => color('--chart-grid'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  }
  const chart = new uPlot(
    {
      width: Math.max(MIN_WIDTH, host.clientWidth),
      height,
      padding: [8, 18, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      legend: { show: false },
      scales: { x: { time: false, range: (_chart, _min, max) => [0, Math.max(MIN_UPDATES, max)] } },
      axes: [
        { ...axis, size: 28, space: 60 },
        { ...axis, size: 54, space: 28, values: (_chart, ticks) => ticks.map((tick) => format(tick)) },
      ],
      series: [{}, ...lines.map((line) => series(line, color))],
      hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
    },
    [[], ...lines.map(() => [])],
    host,
  )
  const fit = new ResizeObserver(() => chart.setSize({ width: Math.max(MIN_WIDTH, host.clientWidth), height }))
  fit.observe(host)
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  const repaint = (): void => chart.redraw(false)
  scheme.addEventListener('change', repaint)
  return {
    draw: (data) => chart.setData(data.map((column) => [...column]) as uPlot.AlignedData), // its own type wants a tuple
    close: () => {
      fit.disconnect()
      scheme.removeEventListener('change', repaint)
      chart.destroy()
    },
  }
}

function series({ label, color, width, dash, points }: Line, read: (name: string) => string): uPlot.Series {
  const paint = (): string => read(color)
  return {
    label,
    stroke: paint,
    width: points ? 0 : width,
    spanGaps: true,
    points: { show: points ?? false, size: 8, fill: paint, stroke: paint },
    ...(dash ? { dash: [...dash] } : {}),
  }
}
