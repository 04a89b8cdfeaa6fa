import { useEffect, useRef } from 'preact/hooks'
import type { SessionView } from '../session-view.ts'
import type { ChartHandle, Line } from './chart.ts'
import { columns, lossColumns } from './curves.ts'

/** Redraws at most so often; thousands of points stay cheap. */
const REDRAW_MS = 250

/** Colours that stand out on light and dark pages alike. */
const LOSS_LINES: readonly Line[] = [
  { label: 'loss', color: '#6aa79a', width: 1 },
  { label: 'smoothed', color: '#0f8a70', width: 2.5 },
  { label: 'validation', color: '#e08a00', width: 1, points: true },
  { label: 'blind guess', color: '#8d8d8d', width: 1, dash: [6, 6] },
]

export function Charts({ session }: { readonly session: SessionView }) {
  const records = session.records.value
  return (
    <div class="charts">
      <Chart title="Loss (nats per token)" lines={LOSS_LINES} height={240} data={lossColumns(records, session.evaluations.value, session.vocabSize.value)} />
      <div class="small">
        <Chart title="Learning rate" lines={[{ label: 'learning rate', color: '#7a6ad8', width: 2 }]} height={130} data={columns(records, (record) => record.learning_rate)} />
        <Chart title="Gradient norm" lines={[{ label: 'gradient norm', color: '#c2602a', width: 1.5 }]} height={130} data={columns(records, (record) => record.grad_norm)} />
        <Chart title="Tokens per second" lines={[{ label: 'tokens/s', color: '#2f7fc1', width: 1.5 }]} height={130} data={columns(records, (record) => record.tokens_per_second)} />
      </div>
    </div>
  )
}

interface ChartProps {
  readonly title: string
  readonly lines: readonly Line[]
  readonly height: number
  readonly data: readonly (readonly (number | null)[])[]
}

function Chart({ title, lines, height, data }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    let chart: ChartHandle | null = null
    let drawn: unknown = null
    let closed = false
    void import('./chart.ts').then(({ openChart }) => {
      if (!closed && host.current) chart = openChart(host.current, lines, height)
    })
    const timer = setInterval(() => {
      if (!chart || drawn === latest.current) return
      drawn = latest.current
      chart.draw(latest.current)
    }, REDRAW_MS)
    return () => {
      closed = true
      clearInterval(timer)
      chart?.close()
    }
  }, [])
  return (
    <div class="chart">
      <h3>{title}</h3>
      <div ref={host} role="img" aria-label={`${title}, a chart over updates; the latest values stand in the figures above`} />
    </div>
  )
}
