import { numberOf, type TrackedRun, type TrackerRecord } from '../protocol/tracker-records.ts'
import { maskedCrc32c } from './crc32c.ts'
import { concat, doubleField, floatField, intField, messageField, textField } from './protobuf.ts'
import { rewriteLogs } from './rewrite-logs.ts'

/**
 * A run as TensorBoard's event file, with the tags of the Trainer's TensorBoardCallback: `train/loss`, `eval/loss`, and the settings as
 * the text `args`. Layout: tensorflow/core/util/event.proto in the framing of tensorflow/core/lib/io/record_writer.h.
 */
export const eventFile = {
  head({ config, startedMs }: TrackedRun): Uint8Array<ArrayBuffer> {
    const version = [doubleField(EVENT.wallTime, startedMs / 1000), textField(EVENT.fileVersion, 'brain.Event:2')]
    return concat([framed(concat(version)), event(startedMs, 0, [textValue('args/text_summary', JSON.stringify(config, null, 2))])])
  },
  /** An event for each value. */
  record(record: TrackerRecord): Uint8Array<ArrayBuffer> {
    if (record.kind === 'finish') return new Uint8Array()
    const { step, timeMs, values } = record
    return concat(Object.entries(rewriteLogs(values)).map(([name, value]) => event(timeMs, step, [valueOf(name, value)])))
  },
  /** TensorBoard finds files by this beginning. */
  fileName({ id, startedMs }: TrackedRun, host: string): string {
    return `events.out.tfevents.${Math.floor(startedMs / 1000)}.${host.replace(/[^\w-]/g, '_')}.${id}`
  },
}

const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5 } as const
const SUMMARY_VALUE = 1
const VALUE = { tag: 1, simpleValue: 2, tensor: 8, metadata: 9 } as const
const TENSOR = { dtype: 1, shape: 2, stringValues: 8 } as const
/** DT_STRING of tensorflow/core/framework/types.proto. */
const STRING = 7

function event(timeMs: number, step: number, values: readonly Uint8Array[]): Uint8Array {
  const summary = values.map((value) => messageField(SUMMARY_VALUE, [value]))
  return framed(concat([doubleField(EVENT.wallTime, timeMs / 1000), intField(EVENT.step, step), messageField(EVENT.summary, summary)]))
}

function valueOf(name: string, value: number | string): Uint8Array {
  const number = numberOf(value)
  return number === null ? textValue(`${name}/text_summary`, String(value)) : concat([textField(VALUE.tag, name), floatField(VALUE.simpleValue, number)])
}

/** A vector of one text for the text plugin, as torch's SummaryWriter writes it. */
function textValue(tag: string, text: string): Uint8Array {
  const dimension = messageField(2, [intField(1, 1)])
  const tensor = [intField(TENSOR.dtype, STRING), messageField(TENSOR.shape, [dimension]), textField(TENSOR.stringValues, text)]
  return concat([textField(VALUE.tag, tag), messageField(VALUE.tensor, tensor), messageField(VALUE.metadata, [messageField(1, [textField(1, 'text')])])])
}

/** Length (u64), its masked CRC, the bytes, their masked CRC; little-endian. */
function framed(data: Uint8Array): Uint8Array {
  const head = new Uint8Array(12)
  const view = new DataView(head.buffer)
  view.setUint32(0, data.length, true)
  view.setUint32(8, maskedCrc32c(head.subarray(0, 8)), true)
  const foot = new Uint8Array(4)
  new DataView(foot.buffer).setUint32(0, maskedCrc32c(data), true)
  return concat([head, data, foot])
}
