import { expect, it } from 'vitest'
import type { TrackerRecord } from '../protocol/tracker-records.ts'
import { crc32c, maskedCrc32c } from './crc32c.ts'
import { eventFile } from './event-file.ts'
import { readEvents } from './testing/read-events.ts'

const run = { id: 'a1b2c3d4', project: 'p', name: null, config: { learning_rate: 0.001, text: 'Ü' }, startedMs: 1_700_000_000_500 }

it.each([
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  [new Uint8Array(32), 0x8a9136aa],
  [new Uint8Array(32).fill(0xff), 0x62a8ab43],
  [Uint8Array.from({ length: 32 }, (_, at) => at), 0x46dd794e],
  [Uint8Array.from({ length: 32 }, (_, at) => 31 - at), 0x113fdb5c],
  [new TextEncoder().encode('123456789'), 0xe3069283],
])('the CRC-32C of known bytes is the published one', (bytes, crc) => {
  expect(crc32c(bytes)).toBe(crc)
})

it('masks a CRC as TensorFlow does', () => {
  // Every event file of TensorFlow begins with these bytes: the length of its first record, 24, and a3 7f 4b 22.
  expect(maskedCrc32c(Uint8Array.of(0x18, 0, 0, 0, 0, 0, 0, 0)).toString(16)).toBe('224b7fa3')
})

it('begins with the version, then has the settings, then a scalar for each value by the tags of the Trainer', () => {
  const records: TrackerRecord[] = [
    { kind: 'log', step: 5, timeMs: 1_700_000_001_000, values: { loss: 2.5, grad_norm: 'NaN', epoch: 0.1 } },
    { kind: 'log', step: 300_000_000_000, timeMs: 1_700_000_002_000, values: { eval_loss: 1.25, note: 'a text' } },
    { kind: 'finish', timeMs: 1_700_000_003_000 },
  ]
  const events = readEvents(new Uint8Array([...eventFile.head(run), ...records.flatMap((record) => [...eventFile.record(record)])]))
  expect(events[0]).toEqual({ wallTime: 1_700_000_000.5, step: 0, fileVersion: 'brain.Event:2', values: [] })
  expect(events[1]?.values[0]).toEqual({ tag: 'args/text_summary', plugin: 'text', text: JSON.stringify(run.config, null, 2), dtype: 7, shape: [1] })
  expect(events.slice(2).map(({ wallTime, step, values }) => [wallTime, step, ...values.map(({ tag, scalar, text }) => [tag, scalar ?? text])])).toEqual([
    [1_700_000_001, 5, ['train/loss', 2.5]],
    [1_700_000_001, 5, ['train/grad_norm', Number.NaN]],
    [1_700_000_001, 5, ['train/epoch', Math.fround(0.1)]],
    [1_700_000_002, 300_000_000_000, ['eval/loss', 1.25]],
    [1_700_000_002, 300_000_000_000, ['train/note/text_summary', 'a text']],
  ])
})

it('names the file so that TensorBoard finds it', () => {
  expect(eventFile.fileName(run, 'my.host')).toBe('events.out.tfevents.1700000000.my_host.a1b2c3d4')
})
