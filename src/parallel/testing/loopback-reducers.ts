import { type Deferred, deferred } from '../../base/deferred.ts'
import type { CollectiveTag, Reducer } from '../reducer.ts'

/** Test-only: ranks in one process. Sums in rank order, so that every rank gets the same bits. */
export interface LoopbackReducer extends Reducer {
  /** Gradient bytes that this rank handed in. */
  reducedBytes: number
  /** Called with the rank's own part before it is summed: the place for faults. */
  before: ((data: Float32Array, tag: CollectiveTag) => void) | null
  /** Tags in the order in which this rank started them. */
  readonly started: string[]
}

/** Resolves with everyone's part, by rank, once all ranks have come to the same key. */
function meetings<Part>(worldSize: number): (key: string, rank: number, part: Part) => Promise<Part[]> {
  const open = new Map<string, { readonly parts: Map<number, Part>; readonly complete: Deferred<void> }>()
  return async (key, rank, part) => {
    const meeting = open.get(key) ?? { parts: new Map<number, Part>(), complete: deferred<void>() }
    open.set(key, meeting)
    meeting.parts.set(rank, part)
    if (meeting.parts.size === worldSize) {
      open.delete(key)
      meeting.complete.resolve()
    }
    await meeting.complete.promise
    return [...meeting.parts.entries()].sort(([a], [b]) => a - b).map(([, each]) => each)
  }
}

export function loopbackReducers(worldSize: number): LoopbackReducer[] {
  const reduce = meetings<Float32Array>(worldSize)
  const gather = meetings<Uint8Array>(worldSize)
  return Array.from({ length: worldSize }, (_, rank) => {
    const reducer: LoopbackReducer = {
      rank,
      worldSize,
      sendingMs: 0,
      reducedBytes: 0,
      before: null,
      started: [],
      async allReduce(data, tag) {
        reducer.before?.(data, tag)
        reducer.started.push(`${tag.update}/${tag.collective}`)
        reducer.reducedBytes += data.byteLength
        const parts = await reduce(`${tag.update}/${tag.collective}/${data.length}`, rank, data.slice())
        data.fill(0)
        for (const part of parts) for (let index = 0; index < data.length; index++) data[index] = (data[index] ?? 0) + (part[index] ?? Number.NaN)
      },
      allGather: (mine, tag) => gather(`${tag.update}/${tag.collective}/${mine.length}`, rank, mine.slice()),
    }
    return reducer
  })
}
