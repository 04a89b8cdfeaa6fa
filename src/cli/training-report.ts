import { deferred } from '../base/deferred.ts'
import type { CliEvent } from '../protocol/cli-events.ts'
import type { EvaluationRecord, StepRecord } from '../protocol/step-record.ts'
import { evaluationEntry, formatLogLine, summaryEntry } from '../protocol/trainer-log.ts'
import { type Output, StatusLine, progressLine } from './progress.ts'

type Stage = 'opening' | 'invited' | 'started' | 'over'

export interface ReportOptions {
  readonly out?: Output
  /** Of the run that this one goes on with. */
  readonly past?: readonly StepRecord[]
  /** Which parameters of the model. */
  readonly trains?: 'all' | 'part' | 'adapters'
}

const TRAINING = { all: 'Training', part: 'Training a part of', adapters: 'Training adapters beside' } as const

/** What the terminal shows of a run, from the coordinator page's events. */
export class TrainingReport {
  readonly #line: StatusLine
  readonly #invited = deferred<string>()
  readonly #started = deferred<void>()
  readonly #finished = deferred<void>()
  readonly #trains: keyof typeof TRAINING
  #records: readonly StepRecord[]
  #total = 0
  #stage: Stage = 'opening'

  constructor({ out = process.stdout, past = [], trains = 'all' }: ReportOptions = {}) {
    this.#trains = trains
    this.#records = past
    this.#line = new StatusLine(out)
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
        this.#stage = 'invited'
        return this.#invited.resolve(event.url)
      case 'started':
        return this.#start(event)
      case 'record':
        this.#add(event.record)
        return this.#line.show(progressLine(this.#records, this.#total))
      case 'log':
        return this.note(formatLogLine(event.entry))
      case 'evaluation':
        return this.#evaluated(event.evaluation)
      case 'sample':
        return this.#line.print(`After update ${event.sample.step}: ${JSON.stringify(event.sample.prompt + event.sample.text)}`, { dim: true })
      case 'event':
        // Nothing can have gone well before the start that an error would leave standing.
        if (event.level === 'error' && this.#stage !== 'started') return this.fail(event.text)
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
    if (this.#stage !== 'over') this.#line.print(text)
  }

  /** A rank that is gone is training's everyday business; before the start it never comes. */
  rankCrashed(rank: number): void {
    const sentence = `The tab of rank ${rank} has crashed; it may have run out of memory`
    if (this.#stage === 'started') this.note(sentence)
    else this.fail(sentence)
  }

  /** An error that the page did not expect: one before the invitation means that it did not open. */
  coordinatorError(message: string): void {
    if (this.#stage === 'opening') this.fail(`The coordinator page did not open: ${message}`)
    else this.note(`The coordinator tab: ${message}`)
  }

  fail(sentence: string): void {
    const error = new Error(sentence)
    this.#invited.reject(error)
    this.#started.reject(error)
    this.#finished.reject(error)
  }

  end(folder: string): void {
    this.#line.clear()
    this.note(formatLogLine(summaryEntry(this.#records)))
    this.note(`The model is in ${folder}`)
  }

  /** Nothing is printed from now on: what tabs say while they are closed means nothing. */
  close(): void {
    this.#line.clear()
    this.#stage = 'over'
  }

  /** A measurement without training is told in full. */
  #evaluated(evaluation: EvaluationRecord): void {
    if (this.#total > 0) return this.note(formatLogLine(evaluationEntry(evaluation)))
    const { eval_loss, eval_items } = evaluation
    this.note(`loss ${eval_loss} (nats per token), ${eval_items} items, perplexity ${Math.exp(eval_loss)}`)
  }

  #start({ maxSteps, parameters, vocabSize, ranks }: Extract<CliEvent, { type: 'started' }>): void {
    this.#stage = 'started'
    this.#total = maxSteps
    const done = this.#records.length
    const count = parameters.toLocaleString('en-US')
    if (maxSteps === 0) this.note(`Evaluating ${count} parameters on ${ranks === 1 ? '1 rank' : `${ranks} ranks`}`)
    else
      this.note(
        `${TRAINING[this.#trains]} ${count} parameters over a vocabulary of ${vocabSize} on ${ranks === 1 ? '1 rank' : `${ranks} ranks`} for ${maxSteps} updates${done > 0 ? `, from update ${done + 1} on` : ''}`,
      )
    this.#started.resolve()
  }

  /** When ranks leave, updates that not all of them had are computed again; their second record counts. */
  #add(record: StepRecord): void {
    const kept = record.outcome === 'committed' ? record.step - 1 : record.step
    this.#records = [...this.#records.filter(({ step }) => step <= kept), record]
  }
}
