import { signal } from '@preact/signals'
import type { RunData } from '../data/build-corpus.ts'
import { type DataFile, readDataFile } from '../data/data-file.ts'
import { sampleSources } from '../data/sample-source.ts'
import type { TextSource } from './session-view.ts'

/** The data that a person has chosen to train on, and to be measured by. A file that does not read leaves what was there. */
export class DataChoice {
  readonly source = signal<TextSource | null>(null)
  readonly validationSource = signal<TextSource | null>(null)
  /** Why the last file could not be taken; empty when it could. */
  readonly problem = signal('')
  readonly #textField: () => string
  #train: DataFile | null = null
  #validation: DataFile | null = null

  /** `textField`: the column with texts, as the options have it when a file is read. */
  constructor(textField: () => string) {
    this.#textField = textField
  }

  /** Null before anything was chosen. */
  get data(): RunData | null {
    return this.#train && { train: this.#train, validation: this.#validation }
  }

  async useText(name: string, read: () => Promise<string>): Promise<void> {
    await this.#try(async () => this.#use({ kind: 'text', name, text: await read() }))
  }

  async useFile(file: File): Promise<void> {
    await this.#try(async () => this.#use(await this.#read(file)))
  }

  /** Null holds out part of the data again. */
  async useValidationFile(file: File | null): Promise<void> {
    await this.#try(async () => {
      this.#validation = file && (await this.#read(file))
      this.validationSource.value = this.#validation && sourceOf(this.#validation)
    })
  }

  #use(data: DataFile): void {
    this.#train = data
    this.source.value = sourceOf(data)
  }

  /** @throws a sentence also when the file reads, but its rows do not. */
  async #read(file: File): Promise<DataFile> {
    const data = await readDataFile(file.name, new Uint8Array(await file.arrayBuffer()))
    if (data.kind === 'records') sampleSources(data, this.#textField())
    return data
  }

  async #try(use: () => Promise<void>): Promise<void> {
    this.problem.value = ''
    try {
      await use()
    } catch (cause) {
      this.problem.value = cause instanceof Error ? cause.message : String(cause)
    }
  }
}

function sourceOf(data: DataFile): TextSource {
  return data.kind === 'text' ? { name: data.name, amount: data.text.length, unit: 'characters' } : { name: data.name, amount: data.records.length, unit: 'rows' }
}
