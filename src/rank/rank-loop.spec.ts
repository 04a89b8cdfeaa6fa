import { afterEach, describe, expect, it } from 'vitest'
import { prepareRun } from '../coordinator/prepare-run.ts'
import { plainText } from '../data/build-corpus.ts'
import { Run } from '../coordinator/run.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { LoopbackRanks } from './testing/loopback-ranks.ts'

const TEXT = Array.from({ length: 400 }, (_, index) => `line ${(index * 37) % 91} of a small text, `).join('')
const OPTIONS = {
  preset: 'tiny',
  max_steps: 4,
  global_batch_size: 8,
  per_device_train_batch_size: 1,
  n_embd: 16,
  block_size: 16,
  sample_every: 4,
  sample_tokens: 4,
  eval_steps: 4,
  max_eval_samples: 4,
  hash_every: 1,
  bucket_cap_mb: 0.004,
}

/** A room in one process: the real coordinator run with real ranks. */
class Room {
  readonly reports: UpdateReport[] = []
  readonly evaluations: number[] = []
  readonly ranks = new LoopbackRanks({ receive: (peer, message) => this.run.receive(peer, message), blob: () => {} })
  readonly done: Promise<void>
  failure: string | null = null
  run!: Run
  #end: () => void = () => {}

  constructor() {
    this.done = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  async open(peers: readonly string[], options: Record<string, unknown> = {}): Promise<void> {
    const prepared = await prepareRun(plainText(TEXT), resolveOptions({ ...OPTIONS, ...options }), peers.length)
    this.run = new Run(prepared.settings, {
      finished: (report) => this.reports.push(report),
      rewound: () => {},
      rankReport: () => {},
      generation: () => {},
      evaluated: (_update, lossSum, items) => this.evaluations.push(lossSum / items),
      generated: () => {},
      checkpointed: () => {},
      event: () => {},
      done: () => this.#end(),
      failed: (cause) => {
        this.failure = cause
        this.#end()
      },
    })
    this.run.expect(peers.length)
    for (const peer of peers) {
      const { send, sendBlob } = this.ranks.add(peer)
      this.run.add({ peer, name: peer, send, sendCorpus: () => sendBlob('corpus', prepared.corpus) })
    }
  }

  close(): void {
    this.ranks.close()
  }
}

/** Up to four devices in one process, each compiling its kernels. */
const TIMEOUT_MS = 240_000

describe('a room of ranks in one process', { timeout: TIMEOUT_MS }, () => {
  let room: Room
  afterEach(() => room.close())

  async function train(peers: readonly string[], options: Record<string, unknown> = {}): Promise<Room> {
    room?.close()
    room = new Room()
    await room.open(peers, options)
    await room.done
    if (room.failure) throw new Error(room.failure)
    return room
  }

  it('[U3] 1 rank with 8 micro-batches, 2 with 4, 4 with 2 and 3 with 4 + 3 + 1 train alike', async () => {
    const alone = await train(['a'])
    expect(alone.reports.length).toBe(4)
    for (const [peers, shares] of [
      [['a', 'b'], ''],
      [['a', 'b', 'c', 'd'], ''],
      [['a', 'b', 'c'], '4,3,1'],
    ] as const) {
      const several = await train(peers, { micro_batch_shares: shares })
      for (const [index, report] of several.reports.entries()) {
        const reference = alone.reports[index]
        expect(report.numItems).toBe(reference?.numItems)
        expect(Math.abs(report.lossSum / (reference?.lossSum ?? 1) - 1)).toBeLessThan(1e-5)
        expect(Math.abs(report.gradNorm / (reference?.gradNorm ?? 1) - 1)).toBeLessThan(1e-5)
      }
      expect(several.evaluations[0]).toBeCloseTo(alone.evaluations[0] ?? 0, 5)
    }
  })

  it('[U6] the same run twice gives the same bits', async () => {
    const first = await train(['a', 'b'])
    const hashes = first.reports.map(({ stateHash }) => stateHash)
    const second = await train(['a', 'b'])
    expect(second.reports.map(({ stateHash }) => stateHash)).toEqual(hashes)
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/)
  })

  it('[M3] a rank that vanishes inside an update changes no loss', async () => {
    const undisturbed = await train(['a', 'b', 'c'])
    const expected = undisturbed.reports.map(({ lossSum }) => lossSum)
    room = new Room()
    await room.open(['a', 'b', 'c'])
    while (room.reports.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    room.ranks.loops.get('b')?.close('its tab was closed')
    room.run.remove('b', 'closed its tab')
    await room.done
    expect(room.failure).toBeNull()
    expect(room.reports.map(({ update }) => update)).toEqual([0, 1, 2, 3])
    for (const [index, { lossSum }] of room.reports.entries()) expect(Math.abs(lossSum / (expected[index] ?? 1) - 1)).toBeLessThan(1e-5)
  })
})
