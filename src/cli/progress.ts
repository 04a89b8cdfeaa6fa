import type { StepRecord } from '../protocol/step-record.ts'

const BAR_WIDTH = 24
const DIM = '\x1b[2m'
const PLAIN = '\x1b[0m'
const CLEAR_LINE = '\r\x1b[2K'

/** One line: bar, step of total, loss, tokens/s, time left. Skipped updates do not count. */
export function progressLine(records: readonly StepRecord[], total: number): string {
  const last = records.findLast(({ outcome }) => outcome === 'committed')
  if (!last) return `${bar(0)} 0/${total}`
  const secondsLeft = ((total - last.step) * last.elapsed_ms) / last.step / 1000
  return `${bar(last.step / total)} ${last.step}/${total}  loss ${last.loss.toFixed(3)}  ${Math.round(last.tokens_per_second)} tokens/s  ETA ${clock(secondsLeft)}`
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH)
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`
}

/** 75 -> 1:15, 3675 -> 1:01:15 */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const pair = (value: number): string => String(value).padStart(2, '0')
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  return `${hours > 0 ? `${hours}:${pair(minutes)}` : minutes}:${pair(whole % 60)}`
}

/** Where lines go: a stream, and whether it is a terminal. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** A line at the bottom of a terminal that other lines push up; without a terminal there is none. */
export class StatusLine {
  readonly #out: Output
  #shown = ''

  constructor(out: Output) {
    this.#out = out
  }

  show(line: string): void {
    if (!this.#out.isTTY) return
    this.#shown = line.slice(0, Math.max(20, (this.#out.columns || 80) - 1))
    this.#out.write(`${CLEAR_LINE}${this.#shown}`)
  }

  /** Prints a line above; `dim` in a terminal only. */
  print(line: string, { dim = false }: { readonly dim?: boolean } = {}): void {
    const text = dim && this.#out.isTTY ? `${DIM}${line}${PLAIN}` : line
    this.#out.write(this.#shown ? `${CLEAR_LINE}${text}\n${this.#shown}` : `${text}\n`)
  }

  clear(): void {
    if (this.#shown) this.#out.write(CLEAR_LINE)
    this.#shown = ''
  }
}
