import type { StepRecord } from '../protocol/step-record.ts'

const BAR_WIDTH = 24

/** One line: bar, step of total, loss, tokens/s, time left. */
export function progressLine(records: readonly StepRecord[], total: number): string {
  const last = records.at(-1)
  if (!last) return `${bar(0)} 0/${total}`
  const done = records.length
  const secondsLeft = ((total - done) * last.elapsed_ms) / done / 1000
  return `${bar(done / total)} ${done}/${total}  loss ${last.loss.toFixed(3)}  ${Math.round(last.tokens_per_second)} tokens/s  ETA ${clock(secondsLeft)}`
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, share) * BAR_WIDTH)
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}`
}

/** 75 -> 1:15 */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** A line at the bottom of a terminal that other lines push up; without a terminal there is none. */
export class StatusLine {
  readonly #out: NodeJS.WriteStream
  #shown = ''

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
  }

  show(line: string): void {
    if (!this.#out.isTTY) return
    this.#shown = line.slice(0, Math.max(20, (this.#out.columns ?? 80) - 1))
    this.#out.write(`\r\x1b[2K${this.#shown}`)
  }

  /** Prints a line above. */
  print(line: string): void {
    this.#out.write(this.#shown ? `\r\x1b[2K${line}\n${this.#shown}` : `${line}\n`)
  }

  clear(): void {
    if (this.#shown) this.#out.write('\r\x1b[2K')
    this.#shown = ''
  }
}
