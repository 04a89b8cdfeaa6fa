import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** The only door to uplot. */
export interface Line {
  readonly label: string
  readonly color: string
  readonly width: number
  readonly dash?: readonly number[]
  /** Dots instead of a line. */
  readonly points?: boolean
}

export interface ChartHandle {
  /** x and one array for each line; null leaves a gap. */
  draw(data: readonly (readonly (number | null)[])[]): void
  close(): void
}

/** A live chart that fills its host's width; colours of axes follow the page's scheme. */
export function openChart(host: HTMLElement, lines: readonly Line[], height: number): ChartHandle {
  const ink = getComputedStyle(host).color
  const axis: uPlot.Axis = { stroke: ink, grid: { stroke: `color-mix(in srgb, ${ink} 15%, transparent)`, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  const chart = new uPlot(
    {
      width: Math.max(160, host.clientWidth),
      height,
      cursor: { y: false },
      legend: { show: lines.length > 1 },
      scales: { x: { time: false } },
      axes: [{ ...axis }, { ...axis, size: 48 }],
      series: [{ label: 'update' }, ...lines.map(series)],
    },
    [[], ...lines.map(() => [])],
    host,
  )
  const observer = new ResizeObserver(() => chart.setSize({ width: Math.max(160, host.clientWidth), height }))
  observer.observe(host)
  return {
    draw: (data) => chart.setData(data.map((column) => [...column]) as uPlot.AlignedData),
    close: () => {
      observer.disconnect()
      chart.destroy()
    },
  }
}

function series({ label, color, width, dash, points }: Line): uPlot.Series {
  return {
    label,
    stroke: color,
    width: points ? 0 : width,
    spanGaps: true,
    points: { show: points ?? false, size: 7, fill: color },
    value: (_chart, value) => (value === null ? '–' : Number(value.toPrecision(4)).toString()),
    ...(dash ? { dash: [...dash] } : {}),
  }
}
