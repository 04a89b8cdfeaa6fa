import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FromRank, ToRank } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { Run } from './run.ts'
import type { RunListener, RunSettings } from './run-ports.ts'

const HASH = 'a'.repeat(64)
const settings: RunSettings = {
  id: 'run',
  options: {},
  config: {},
  corpus: { layout: 'blocks', bytes: 4, sha256: HASH, bytesPerToken: 2, trainTokens: 64, validationTokens: 16 },
  planner: { seed: 1, numSamples: 12, globalBatchSize: 4, perDeviceBatchSize: 1, corpus: { itemsOf: () => 7, tokensOf: () => 8 }, strategy: 'random', hashEvery: 0, shares: [] },
  initial: { from: 'seed' },
  save: { strategy: 'no', every: 1 },
  totalUpdates: 6,
  evaluatesFirst: false,
  waitsForEvaluations: false,
  evalEvery: 3,
  evalSamples: [0, 1, 2],
  sampleEvery: 6,
  generate: { prompt: [1], tokens: 2, temperature: 1, topK: 0, topP: 1 },
}

/** A rank that answers like a real one, until told to go silent; state is the number of windows done. */
class FakeRank {
  readonly peer: string
  readonly name: string
  state = 0
  silent = false
  readonly seen: ToRank[] = []
  readonly #room: FakeRoom
  constructor(room: FakeRoom, peer: string) {
    this.#room = room
    this.peer = peer
    this.name = `name of ${peer}`
  }
  sendCorpus(): Promise<void> {
    return Promise.resolve()
  }
  send(message: ToRank): void {
    this.seen.push(message)
    if (!this.silent) this.#room.later(this, message.type === 'plan' ? this.#room.updateMs : 1, () => this.#answer(message))
  }
  #answer(message: ToRank): FromRank | null {
    const stateHash = String(this.state).padStart(64, '0')
    switch (message.type) {
      case 'prepare':
        return { type: 'prepared', run: message.run }
      case 'form':
        return { type: 'formed', generation: message.generation, update: this.state, stateHash }
      case 'sync':
        this.state = Math.max(...this.#room.ranks.filter((rank) => !rank.silent).map((rank) => rank.state))
        return { type: 'synced', generation: message.generation, update: this.state, stateHash: String(this.state).padStart(64, '0') }
      case 'plan':
        if (message.plan.update !== this.state) return null
        this.state++
        return { type: 'report', report: report(message.plan.generation, message.plan.update, message.plan.numItems) }
      case 'evaluate':
        return { type: 'evaluated', id: message.id, lossSum: message.microBatches.flat().length, items: message.microBatches.flat().length }
      case 'generate':
        return { type: 'generated', id: message.id, ids: [1, 2] }
      default:
        return null
    }
  }
}

function report(generation: number, update: number, numItems: number): UpdateReport {
  return {
    generation,
    update,
    outcome: 'committed',
    lossSum: numItems * 2,
    numItems,
    gradNorm: 1,
    learningRate: 0.1,
    committed: update + 1,
    tokens: 1,
    times: { totalMs: 1, computeMs: 1, sendMs: 0, waitMs: 0, stepMs: 0 },
    bytesSent: 0,
  }
}

class FakeRoom {
  readonly ranks: FakeRank[] = []
  readonly log: string[] = []
  updateMs = 10
  /** Hears of an evaluation as a page does. */
  onEvaluated: (update: number) => void = () => {}
  readonly run: Run
  constructor(change: Partial<RunSettings> = {}) {
    const listener: RunListener = {
      finished: (done, { ranks }) => this.log.push(`update ${done.update} on ${ranks}`),
      rewound: () => {},
      rankReport: () => {},
      generation: (members, reason) => this.log.push(`generation of ${members.length}: ${reason}`),
      evaluated: (update, lossSum, items) => {
        this.log.push(`evaluated ${update}: ${lossSum}/${items}`)
        this.onEvaluated(update)
      },
      generated: (update) => this.log.push(`generated ${update}`),
      checkpointed: () => {},
      event: () => {},
      done: () => this.log.push('done'),
      failed: (cause) => this.log.push(`failed: ${cause}`),
    }
    this.run = new Run({ ...settings, ...change }, listener)
  }
  add(...peers: string[]): void {
    for (const peer of peers) {
      const rank = new FakeRank(this, peer)
      this.ranks.push(rank)
      this.run.add(rank)
    }
  }
  later(rank: FakeRank, delayMs: number, answer: () => FromRank | null): void {
    setTimeout(() => {
      if (rank.silent) return
      const message = answer()
      if (message) this.run.receive(rank.peer, message)
    }, delayMs)
  }
  get updates(): string[] {
    return this.log.filter((line) => line.startsWith('update'))
  }
}

describe('Run', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const allUpdates = [0, 1, 2, 3, 4, 5]

  it('plans every window once, evaluates and generates in between, and ends', async () => {
    const room = new FakeRoom()
    room.run.expect(2)
    room.add('a', 'b')
    await vi.advanceTimersByTimeAsync(200)
    expect(room.updates).toEqual(allUpdates.map((update) => `update ${update} on 2`))
    expect(room.log).toContain('evaluated 3: 3/3')
    expect(room.log).toContain('evaluated 6: 3/3')
    expect(room.log).toContain('generated 6')
    expect(room.log.at(-1)).toBe('done')
  })

  it('[M1] starts only when the expected ranks are prepared and all have linked up', async () => {
    const room = new FakeRoom()
    room.run.expect(2)
    room.add('a')
    await vi.advanceTimersByTimeAsync(100)
    expect(room.log).toEqual([])
    room.add('b')
    await vi.advanceTimersByTimeAsync(5)
    expect(room.log[0]).toBe('generation of 2: start')
  })

  it('[M3] plans the unfinished window again for those who remain when a rank goes', async () => {
    const room = new FakeRoom()
    room.run.expect(3)
    room.add('a', 'b', 'c')
    await vi.advanceTimersByTimeAsync(15)
    const gone = room.ranks[1]
    if (gone) gone.silent = true
    await vi.advanceTimersByTimeAsync(50)
    room.run.remove('b', 'closed its tab')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(room.updates.map((line) => Number(line.split(' ')[1]))).toEqual(allUpdates)
    expect(room.updates.at(-1)).toBe('update 5 on 2')
    expect(room.log.at(-1)).toBe('done')
  })

  it('[M4] takes a late rank in at the next boundary, with the state of a rank that has it', async () => {
    const room = new FakeRoom()
    room.add('a')
    await vi.advanceTimersByTimeAsync(15)
    room.add('b')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(room.updates.map((line) => Number(line.split(' ')[1]))).toEqual(allUpdates)
    expect(room.updates.at(-1)).toBe('update 5 on 2')
    expect(room.ranks[1]?.seen.some((message) => message.type === 'sync' && message.source === 0)).toBe(true)
  })

  it('[M7] leaves out a rank that never links up, tells it why, and goes on', async () => {
    const room = new FakeRoom()
    room.run.expect(2)
    room.add('a', 'b')
    await vi.advanceTimersByTimeAsync(1)
    const late = room.ranks[1]
    if (late) late.silent = true
    await vi.advanceTimersByTimeAsync(25_000)
    expect(late?.seen.some((message) => message.type === 'refused' && message.reason.includes('direct connection'))).toBe(true)
    expect(room.updates.at(-1)).toBe('update 5 on 1')
  })

  it('[U6] fails when two ranks report different results, and names one', async () => {
    const room = new FakeRoom()
    room.run.expect(2)
    room.add('a', 'b')
    await vi.advanceTimersByTimeAsync(4)
    room.run.receive('a', { type: 'report', report: { ...report(0, 0, 28), gradNorm: 7 } })
    room.run.receive('b', { type: 'report', report: report(0, 0, 28) })
    expect(room.log.at(-1)).toMatch(/^failed: Ranks disagree on update 1 .*name of b/)
  })

  it('[M7] a fatal failure of one rank ends the run for all with its cause', async () => {
    const room = new FakeRoom()
    room.run.expect(2)
    room.add('a', 'b')
    await vi.advanceTimersByTimeAsync(3)
    room.run.receive('b', { type: 'failed', generation: 0, update: 0, cause: 'counted 3 items, planned 4', fatal: true })
    expect(room.log.at(-1)).toBe('failed: name of b failed in update 1: counted 3 items, planned 4')
    expect(room.ranks[0]?.seen.at(-1)?.type).toBe('abort')
  })

  it('gives up after several generations in a row that finished nothing', async () => {
    const room = new FakeRoom()
    room.updateMs = 1e9
    room.add('a')
    for (let generation = 0; generation < 20; generation++) {
      await vi.advanceTimersByTimeAsync(152)
      for (let g = 0; g < 40; g++) room.run.receive('a', { type: 'failed', generation: g, update: 0, cause: 'the link broke', fatal: false })
    }
    expect(room.log.at(-1)).toMatch(/^failed: 6 tries in a row failed; the last: the link broke/)
  })

  it('measures before the first window when asked, and without windows does nothing else', async () => {
    const room = new FakeRoom({ evaluatesFirst: true, totalUpdates: 0, sampleEvery: 0 })
    room.run.expect(2)
    room.add('a', 'b')
    await vi.advanceTimersByTimeAsync(200)
    expect(room.log).toEqual(['generation of 2: start', 'evaluated 0: 3/3', 'done'])
    const trained = new FakeRoom({ evaluatesFirst: true })
    trained.add('a')
    await vi.advanceTimersByTimeAsync(200)
    expect(trained.log.filter((line) => !line.startsWith('update'))).toEqual([
      'generation of 1: start',
      'evaluated 0: 3/3',
      'evaluated 3: 3/3',
      'evaluated 6: 3/3',
      'generated 6',
      'done',
    ])
  })

  it('[U1] plans nothing past an evaluation that may end the run, and ends it there', async () => {
    for (const ranks of [['a'], ['a', 'b', 'c']]) {
      const room = new FakeRoom({ waitsForEvaluations: true, totalUpdates: 30 })
      room.onEvaluated = (update) => update === 6 && room.run.stop()
      room.run.expect(ranks.length)
      room.add(...ranks)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(room.updates.length).toBe(6)
      expect(room.log.at(-1)).toBe('done')
    }
  })

  it('stops after the planned windows when asked, and pauses in between', async () => {
    const room = new FakeRoom()
    room.add('a')
    await vi.advanceTimersByTimeAsync(5)
    room.run.pause()
    await vi.advanceTimersByTimeAsync(100)
    const paused = room.updates.length
    expect(room.ranks[0]?.seen.filter(({ type }) => type === 'pause').length).toBe(1)
    expect(paused).toBeLessThan(6)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(room.updates.length).toBe(paused)
    room.run.resume()
    room.run.stop()
    await vi.advanceTimersByTimeAsync(1_000)
    // What resume planned is finished; nothing after it.
    expect(room.updates.length).toBeLessThanOrEqual(paused + 2)
    expect(room.log.at(-1)).toBe('done')
  })
})
