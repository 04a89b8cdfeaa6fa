import papaparse from 'papaparse'
import { expect, it } from 'vitest'
import type { TrackerRecord } from '../protocol/tracker-records.ts'
import { csvHead, csvRows, newColumns } from './csv.ts'

const log = (step: number, values: Readonly<Record<string, number | string>>): TrackerRecord => ({ kind: 'log', step, timeMs: 0, values })

it('has a row for each record and an empty cell for what it lacks', () => {
  const records = [log(1, { loss: 2.5, epoch: 0.1 }), log(2, { eval_loss: 'NaN', epoch: 0.2 }), { kind: 'finish', timeMs: 0 } as const]
  const columns = newColumns(records, [])
  expect(csvHead(columns) + csvRows(records, columns)).toBe('step,loss,epoch,eval_loss\n1,2.5,0.1,\n2,,0.2,NaN\n')
  expect(newColumns([log(3, { step: 1, loss: 1, grad_norm: 2 })], columns)).toEqual(['grad_norm'])
})

it('quotes what would break a row, as another reader reads it', () => {
  const text = 'a "quoted" line,\nand another'
  const columns = ['te,xt', 'n']
  const parsed = papaparse.parse<Record<string, string>>(csvHead(columns) + csvRows([log(1, { 'te,xt': text, n: 1e-7 })], columns), { header: true, skipEmptyLines: true })
  expect(parsed.data).toEqual([{ step: '1', 'te,xt': text, n: '1e-7' }])
})
