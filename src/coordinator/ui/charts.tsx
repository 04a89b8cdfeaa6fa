import { loss, short, whole } from '../../ui/format.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { SessionView } from '../session-view.ts'
import { Chart } from './live-chart.tsx'
import { columns, lossColumns } from './curves.ts'

/** Rows of the table of last updates. */
const LAST = 8

export function Charts({ session }: { readonly session: SessionView }) {
  const { records, evaluations, vocabSize } = session
  const watched = [records, evaluations, vocabSize]
  return (
    <section class="card" aria-labelledby="charts-title">
      <h2 id="charts-title">How it learns</h2>
      <Chart
        title="Loss"
        unit="nats per token"
        lines={[
          { label: 'each update', color: '--chart-loss-raw', width: 1 },
          { label: 'smoothed', color: '--chart-loss', width: 2.5 },
          { label: 'validation', color: '--chart-validation', width: 1, points: true },
          { label: 'blind guess, ln(vocabulary)', color: '--chart-blind', width: 1.5, dash: [6, 5] },
        ]}
        height={270}
        format={axisLoss}
        watched={watched}
        read={() => lossColumns(records.peek(), evaluations.peek(), vocabSize.peek())}
      />
      <div class="small-charts">
        <Chart
          title="Learning rate"
          lines={[{ label: 'learning rate', color: '--chart-rate', width: 2 }]}
          height={130}
          format={short}
          watched={watched}
          read={() => columns(records.peek(), ({ learning_rate }) => learning_rate)}
        />
        <Chart
          title="Gradient norm"
          lines={[{ label: 'gradient norm', color: '--chart-norm', width: 1.5 }]}
          height={130}
          format={short}
          watched={watched}
          read={() => columns(records.peek(), ({ grad_norm }) => grad_norm)}
        />
        <Chart
          title="Speed"
          unit="tokens/s"
          lines={[{ label: 'tokens per second', color: '--chart-speed', width: 1.5 }]}
          height={130}
          format={short}
          watched={watched}
          read={() => columns(records.peek(), ({ tokens_per_second }) => tokens_per_second)}
        />
      </div>
      <LastUpdates session={session} />
    </section>
  )
}

/** Axis marks need fewer digits than the readings. */
function axisLoss(value: number): string {
  return Number(value.toFixed(3)).toString()
}

function LastUpdates({ session }: { readonly session: SessionView }) {
  const records = useThrottled(session.records)
  return (
    <details class="fold">
      <summary>The last updates as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="The last updates">
        <table>
          <thead>
            <tr>
              {['Update', 'Loss', 'Learning rate', 'Gradient norm', 'Tokens/s', 'Outcome'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {records
              .slice(-LAST)
              .toReversed()
              .map((record, index) => (
                <tr key={records.length - index}>
                  <th scope="row">{whole(record.step)}</th>
                  <td>{loss(record.loss)}</td>
                  <td>{short(record.learning_rate)}</td>
                  <td>{short(record.grad_norm)}</td>
                  <td>{short(record.tokens_per_second)}</td>
                  <td>{record.outcome === 'committed' ? 'done' : record.outcome.replaceAll('-', ' ')}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
