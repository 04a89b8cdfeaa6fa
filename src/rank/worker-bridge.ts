import * as Comlink from 'comlink'
import type { AdapterFacts, FromRank, Member, SelfTestResult, ToRank } from '../protocol/room-messages.ts'

/** What the page asks of the compute Worker; the only door to comlink. Nothing hot passes here: the ring runs in the Worker. */
export interface RankWorker {
  /**
   * Opens the GPU and runs the numeric self-test. `emit` carries what the rank says to the coordinator; blobs that
   * belong to a message follow it.
   * @throws a sentence when there is no usable adapter.
   */
  start(peer: string, profile: 'auto' | 'lane' | 'shared', emit: EmitToPage): Promise<{ readonly adapter: AdapterFacts; readonly selfTest: SelfTestResult }>
  handle(message: ToRank): void
  receiveBlob(name: string, bytes: Uint8Array<ArrayBuffer>): void
  /** Takes over the bulk channel to a neighbour, or a port to the page that carries it. */
  attach(generation: number, member: Member, body: RTCDataChannel | MessagePort): void
  close(cause: string): Promise<void>
}

export interface NamedBlob {
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export type EmitToPage = (message: FromRank, ...blobs: NamedBlob[]) => void

export interface WorkerHandle {
  readonly api: Comlink.Remote<RankWorker>
  /** Hears of a Worker that could not load or died of an uncaught error. */
  onError: ((cause: string) => void) | null
  terminate(): void
}

/** Page side. */
export function openRankWorker(): WorkerHandle {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'tabring rank' })
  const handle: WorkerHandle = {
    api: Comlink.wrap<RankWorker>(worker),
    onError: null,
    terminate: () => worker.terminate(),
  }
  worker.addEventListener('error', (event) => handle.onError?.(event.message || 'the Worker could not be loaded'))
  return handle
}

/** Worker side. */
export function exposeRankWorker(api: RankWorker): void {
  Comlink.expose(api)
}

/** A callback that the Worker may call. */
export function callback(emit: EmitToPage): EmitToPage {
  return Comlink.proxy(emit)
}

/** Moves bytes instead of copying them. */
export function moved<T extends { readonly buffer: ArrayBuffer }>(bytes: T): T {
  return Comlink.transfer(bytes, [bytes.buffer])
}

/** Moves the bytes inside an argument: comlink looks for transferables only at the arguments themselves. */
export function movedBlob({ name, bytes }: NamedBlob): NamedBlob {
  return Comlink.transfer({ name, bytes }, [bytes.buffer])
}

/** Moves a channel or a port. TypeScript's Transferable does not list RTCDataChannel yet. */
export function movedBody<T extends RTCDataChannel | MessagePort>(body: T): T {
  return Comlink.transfer(body, [body as unknown as Transferable])
}
