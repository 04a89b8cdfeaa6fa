import { deferred } from '../base/deferred.ts'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import type { StepRecord } from '../protocol/step-record.ts'
import { evaluationEntry, formatLogLine, summaryEntry } from '../protocol/trainer-log.ts'
import { StatusLine, progressLine } from './progress.ts'

/** What the terminal shows of a run, from the coordinator page's events. */
export class TrainingReport {
  readonly #options: TrainingOptions
  readonly #line = new StatusLine(process.stdout)
  readonly #invited = deferred<string>()
  readonly #started = deferred<void>()
  readonly #finished = deferred<void>()
  readonly #records: StepRecord[] = []
  #total = 0

  constructor(options: TrainingOptions) {
    this.#options = options
  }

  /** The invitation link. */
  get invited(): Promise<string> {
    return this.#invited.promise
  }

  get started(): Promise<void> {
    return this.#started.promise
  }

  /** Rejects with the run's sentence when it fails. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  readonly hear = (event: CliEvent): void => {
    switch (event.type) {
      case 'invite':
        return this.#invited.resolve(event.url)
      case 'started':
        this.#total = event.maxSteps
        this.note(`Training ${event.parameters} parameters over a vocabulary of ${event.vocabSize} on ${event.ranks} ranks for ${event.maxSteps} updates`)
        return this.#started.resolve()
      case 'record':
        this.#records.push(event.record)
        return this.#line.show(progressLine(this.#records, this.#total))
      case 'log':
        return this.note(formatLogLine(event.entry))
      case 'evaluation':
        return this.note(formatLogLine(evaluationEntry(event.evaluation)))
      case 'sample':
        return this.note(`After update ${event.sample.step}: ${JSON.stringify(event.sample.prompt + event.sample.text)}`)
      case 'event':
        // Nothing can have gone well before the start that an error would leave standing.
        if (event.level === 'error' && this.#total === 0) this.fail(event.text)
        return event.level === 'info' ? undefined : this.note(event.text)
      case 'status':
        if (event.phase === 'failed') this.fail(event.status)
        if (event.phase === 'finished') this.#finished.resolve()
        return
      default:
        event satisfies never
    }
  }

  note(text: string): void {
    this.#line.print(text)
  }

  fail(sentence: string): void {
    this.#line.clear()
    const error = new Error(sentence)
    this.#invited.reject(error)
    this.#started.reject(error)
    this.#finished.reject(error)
  }

  end(folder: string): void {
    this.#line.clear()
    this.note(formatLogLine(summaryEntry(this.#records, this.#options.block_size - 1)))
    this.note(`The model is in ${folder}`)
  }
}
