import { randomUUID } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type IncomingCheckpoint, isCheckpointName } from './checkpoint-folders.ts'

const FILE_NAME = /^[\w.-]+$/

/**
 * Files between the command line and its page, through the local server under a path that only the page is told: whatever their size,
 * they pass as streams.
 */
export class PageFiles {
  /** Path below which the page finds them. */
  readonly path = `/files/${randomUUID()}`
  readonly #paths: ReadonlyMap<string, string>
  readonly #keep: (incoming: IncomingCheckpoint) => Promise<void>

  /** `paths`: the files that the page may read. */
  constructor(paths: readonly string[], keep: (incoming: IncomingCheckpoint) => Promise<void>) {
    this.#paths = new Map(paths.map((path) => [basename(path), path]))
    this.#keep = keep
  }

  /** For the server. @returns whether the request was for this. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): boolean => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (!url.pathname.startsWith(`${this.path}/`)) return false
    const name = url.pathname.slice(this.path.length + 1)
    const answer = request.method === 'PUT' ? this.#take(name, url.searchParams, request, response) : this.#give(name, response)
    answer.catch((cause: unknown) => refuse(response, 500, cause instanceof Error ? cause.message : String(cause)))
    return true
  }

  async #give(name: string, response: ServerResponse): Promise<void> {
    const path = this.#paths.get(name)
    if (path === undefined) return refuse(response, 404, `there is no ${name}`)
    response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': statSync(path).size, 'Cache-Control': 'no-store' })
    await pipeline(createReadStream(path), response)
  }

  async #take(name: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const files = query.getAll('file').map((text) => {
      const at = text.lastIndexOf(':')
      return { name: text.slice(0, at), bytes: Number(text.slice(at + 1)) }
    })
    const wrong = files.find((file) => !FILE_NAME.test(file.name) || !Number.isSafeInteger(file.bytes) || file.bytes < 0)
    if (!isCheckpointName(name) || wrong) return refuse(response, 400, `${wrong?.name ?? name} is no name of a checkpoint's file`)
    const content: AsyncIterator<Uint8Array> = request[Symbol.asyncIterator]()
    try {
      await this.#keep({ name, files, content })
    } catch (cause) {
      // A page that is still sending would see a broken connection instead of the sentence.
      while (!(await content.next()).done);
      throw cause
    }
    response.end()
  }
}

function refuse(response: ServerResponse, status: number, sentence: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(sentence)
}
