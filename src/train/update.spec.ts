import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../engine/engine.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { stateHash } from '../optim/state-hash.ts'
import { type LoopbackReducer, loopbackReducers } from '../parallel/testing/loopback-reducers.ts'
import { createSumModel, rowOfGradients } from './testing/sum-model.ts'
import { traineeOf } from './testing/trainee.ts'
import { type Trainee, runUpdate, type WindowReport } from './update.ts'

const LENGTH = 8

let engine: Engine
beforeAll(async () => {
  engine = await openTestEngine('lane')
})
afterAll(() => engine.close())

/** A room of ranks whose micro-batches are lists of the gradients of their targets. */
class Room {
  readonly reducers: LoopbackReducer[]
  readonly trainees: Trainee[]
  readonly #samples: (readonly number[])[] = []
  /** Called before a sample is read: the place for faults. */
  onSample: (gradients: readonly number[], rank: number) => void = () => {}

  constructor(ranks: number) {
    this.reducers = loopbackReducers(ranks)
    this.trainees = this.reducers.map(({ rank }) =>
      traineeOf(createSumModel(engine), { batch: 1, length: LENGTH }, ([sample = 0]) => {
        const gradients = this.#samples[sample] ?? []
        this.onSample(gradients, rank)
        return rowOfGradients(gradients, LENGTH)
      }),
    )
  }

  /** Every rank's outcome of one update of the given micro-batches by rank. */
  settle(update: number, byRank: readonly (readonly (readonly number[])[])[], options: { readonly numItems?: number; readonly signal?: AbortSignal } = {}) {
    const numItems = options.numItems ?? byRank.flat(2).length
    return Promise.allSettled(
      this.trainees.map((trainee, rank) => {
        const microBatches = (byRank[rank] ?? []).map((gradients) => [this.#samples.push(gradients) - 1])
        return runUpdate(trainee, this.reducers[rank]!, { update, microBatches, numItems, learningRate: 0.1 }, options.signal)
      }),
    )
  }

  /** Of an update that all ranks finish with the same numbers. */
  async update(update: number, byRank: readonly (readonly (readonly number[])[])[]): Promise<WindowReport> {
    const reports = (await this.settle(update, byRank)).map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    const agreed = ({ outcome, lossSum, gradNorm, committed }: WindowReport) => [outcome, lossSum, gradNorm, committed]
    for (const report of reports) expect(agreed(report)).toEqual(agreed(reports[0]!))
    return reports[0]!
  }

  /** Of every rank; parameters, moments and step. */
  hashes(): Promise<string[]> {
    return Promise.all(this.trainees.map(({ model, optimizer }) => stateHash(engine, model.parameters, optimizer)))
  }
}

function messagesOf(results: readonly PromiseSettledResult<unknown>[]): string[] {
  return results.map((result) => (result.status === 'rejected' ? String(result.reason.message) : 'no failure'))
}

test('[U3] gradient and loss are the mean over all targets of all ranks: 4.0, neither 4.25 nor 3.6', async () => {
  const { gradNorm, lossSum, numItems } = await new Room(2).update(0, [
    [[1, 1], [4]],
    [
      [2, 2, 2],
      [10, 10],
    ],
  ])
  expect(gradNorm).toBe(4)
  expect(lossSum / numItems).toBe(4)
})

test('a short last window is divided by its own targets, and nothing leaks from the window before', async () => {
  const room = new Room(1)
  expect((await room.update(0, [[[1], [1], [1], [1]]])).gradNorm).toBe(1)
  expect((await room.update(1, [[[1]]])).gradNorm).toBe(1)
})

test('the first and the second window give the same gradient', async () => {
  const room = new Room(2)
  const window = [
    [[2], [4]],
    [[2], [4]],
  ]
  expect((await room.update(0, window)).gradNorm).toBe(3)
  expect((await room.update(1, window)).gradNorm).toBe(3)
})

test('gradients stay local until the last backward: a window of four micro-batches sends the bytes of one', async () => {
  const room = new Room(2)
  await room.update(0, [[[1]], [[1]]])
  const once = room.reducers[0]!.reducedBytes
  expect(once).toBe(room.trainees[0]!.model.parameters.elements * 4)
  await room.update(1, [
    [[1], [1], [1], [1]],
    [[1], [1], [1], [1]],
  ])
  expect(room.reducers[0]!.reducedBytes).toBe(2 * once)
})

test('one rank alone sends nothing', async () => {
  const room = new Room(1)
  await room.update(0, [[[1]]])
  expect(room.reducers[0]!.started).toEqual([])
})

test('[U2] ranks with three, two, one and no micro-batches finish, with the loss of one rank that has them all', async () => {
  const all = [[3], [1, 2], [5], [7, 7, 7], [2], [1]]
  const single = await new Room(1).update(0, [all])
  const report = await new Room(4).update(0, [all.slice(0, 3), all.slice(3, 5), all.slice(5), []])
  expect(report.lossSum).toBe(single.lossSum)
  expect(report.gradNorm).toBeCloseTo(single.gradNorm, 6)
})

test('every rank starts the same collectives in the same order, whichever parameters it used', async () => {
  const room = new Room(3)
  await room.update(4, [[[1]], [], [[1], [2]]])
  const [first, ...others] = room.reducers.map(({ started }) => started)
  expect(first?.[0]).toBe('4/0')
  for (const other of others) expect(other).toEqual(first)
})

test('a rank whose labels are all ignored adds nothing: the result is the other rank alone', async () => {
  const report = await new Room(2).update(0, [[[], []], [[6, 2]]])
  expect([report.gradNorm, report.lossSum, report.numItems]).toEqual([4, 8, 2])
})

test('[U8] a window without targets steps nothing and does not advance the schedule', async () => {
  const room = new Room(2)
  await room.update(0, [[[3]], [[1]]])
  const before = await room.hashes()
  const report = await room.update(1, [[[]], [[]]])
  expect([report.outcome, report.gradNorm, report.committed]).toEqual(['skipped-no-items', 0, 1])
  expect(await room.hashes()).toEqual(before)
})

for (const poison of [Number.NaN, Number.POSITIVE_INFINITY]) {
  test(`[U5] a gradient of ${poison} on one rank makes all ranks skip that update and none other`, async () => {
    const room = new Room(3)
    room.reducers[1]!.before = (data, { update }) => {
      if (update === 1) data[0] = poison
    }
    const window = [[[3]], [[1]], [[2]]]
    expect((await room.update(0, window)).outcome).toBe('committed')
    const before = await room.hashes()
    const skipped = await room.update(1, window)
    expect([skipped.outcome, skipped.committed]).toEqual(['skipped-non-finite', 1])
    expect(await room.hashes()).toEqual(before)
    const next = await room.update(2, window)
    expect([next.outcome, next.committed, next.gradNorm]).toEqual(['committed', 2, 2])
    expect(new Set(await room.hashes()).size).toBe(1)
  })
}

test('[U4] a count of targets unlike the plan fails on all ranks with both numbers, and changes nothing', async () => {
  const room = new Room(2)
  const before = await room.hashes()
  const message = 'Cannot finish update 8: the ranks counted 3 targets, need 4 as planned'
  expect(messagesOf(await room.settle(7, [[[1, 2]], [[3]]], { numItems: 4 }))).toEqual([message, message])
  expect(await room.hashes()).toEqual(before)
})

test('[U5] an error on one rank reaches all of them with its rank and message, and the update can be redone', async () => {
  const room = new Room(3)
  room.onSample = (gradients, rank) => {
    if (rank === 1 && gradients[0] === 9) throw new Error('the sample is torn')
  }
  const results = await room.settle(0, [[[1], [2]], [[1], [9]], []])
  const message = 'Cannot finish update 1: rank 1 failed: the sample is torn'
  expect(messagesOf(results)).toEqual([message, message, message])
  room.onSample = () => {}
  expect((await room.update(0, [[[1], [2]], [[1], [9]], []])).gradNorm).toBeCloseTo(13 / 4, 6)
})

test('[M3] an update whose ring breaks changes nothing, keeps no memory, and can be redone', async () => {
  const room = new Room(2)
  const window = [[[1], [5]], [[4]]]
  await room.update(0, window)
  const before = await room.hashes()
  const { buffers } = engine.counts
  for (const update of [1, 2, 3]) {
    for (const reducer of room.reducers) {
      reducer.before = () => {
        throw new Error('the ring is broken')
      }
    }
    expect(messagesOf(await room.settle(update, window))).toEqual(['the ring is broken', 'the ring is broken'])
    expect(await room.hashes()).toEqual(before)
  }
  for (const reducer of room.reducers) reducer.before = null
  expect((await room.update(4, window)).gradNorm).toBeCloseTo(10 / 3, 6)
  expect(engine.counts.buffers).toBe(buffers)
})

test('a window abandoned after a micro-batch leaves nothing for the next one', async () => {
  const room = new Room(1)
  const abort = new AbortController()
  room.onSample = (gradients) => {
    if (gradients[0] === 50) abort.abort(new Error('a rank has left'))
  }
  expect(messagesOf(await room.settle(0, [[[50], [60]]], { signal: abort.signal }))).toEqual(['a rank has left'])
  expect((await room.update(0, [[[2], [4]]])).gradNorm).toBe(3)
})

test('reported times add up and the tokens are those of real rows', async () => {
  const { times, tokens } = await new Room(1).update(0, [[[1], [1]]])
  expect(tokens).toBe(2 * LENGTH)
  expect(Math.min(times.computeMs, times.sendMs, times.waitMs, times.stepMs)).toBeGreaterThanOrEqual(0)
  expect(times.computeMs + times.sendMs + times.waitMs + times.stepMs).toBeCloseTo(times.totalMs, 6)
})
