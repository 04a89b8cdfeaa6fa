import { afterEach, describe, expect, it } from 'vitest'
import { prepareRun } from '../coordinator/prepare-run.ts'
import { Run } from '../coordinator/run.ts'
import { openTestEngine } from '../engine/testing/test-engine.ts'
import { parseFromRank, parseToRank } from '../protocol/parse-messages.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { FromRank, Member, ToRank } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { loopbackPair } from '../transport/loopback.ts'
import { RankLoop } from './rank-loop.ts'
import { type Replica, createReplica } from './replica.ts'

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

/** A room in one process: the real coordinator run, real loops and replicas on Dawn, loopback links, messages as JSON. */
class Room {
  readonly reports: UpdateReport[] = []
  readonly evaluations: number[] = []
  readonly loops = new Map<string, RankLoop>()
  readonly done: Promise<void>
  failure: string | null = null
  run!: Run
  #end: () => void = () => {}
  #halves = new Map<string, ReturnType<typeof loopbackPair>>()

  constructor() {
    this.done = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  async open(peers: readonly string[], options: Record<string, unknown> = {}): Promise<void> {
    const prepared = await prepareRun(TEXT, resolveOptions({ ...OPTIONS, ...options }), peers.length)
    this.run = new Run(prepared.settings, {
      finished: (report) => this.reports.push(report),
      rewound: () => {},
      rankReport: () => {},
      generation: () => {},
      evaluated: (_update, lossSum, items) => this.evaluations.push(lossSum / items),
      generated: () => {},
      event: () => {},
      done: () => this.#end(),
      failed: (cause) => {
        this.failure = cause
        this.#end()
      },
      exported: () => {},
    })
    this.run.expect(peers.length)
    for (const peer of peers) this.add(peer, prepared.corpus)
  }

  add(peer: string, corpus: Uint8Array<ArrayBuffer>): void {
    const loop = new RankLoop({
      peer,
      emit: (message) => this.#emit(peer, message),
      prepare: async (message, bytes) => this.#prepare(message, bytes),
    })
    this.loops.set(peer, loop)
    this.run.add({
      peer,
      name: peer,
      send: (message) => this.#send(peer, loop, message),
      sendCorpus: async () => loop.receiveBlob('corpus', corpus.slice()),
    })
  }

  close(): void {
    for (const loop of this.loops.values()) loop.close('the test is over')
  }

  async #prepare(message: Extract<ToRank, { type: 'prepare' }>, corpus: Uint8Array<ArrayBuffer>): Promise<Replica> {
    return createReplica(await openTestEngine('lane'), message, corpus, () => {})
  }

  #emit(peer: string, message: FromRank): void {
    const parsed = parseFromRank(JSON.parse(JSON.stringify(message)))
    if (!parsed) throw new Error(`a rank sent what the door refuses: ${JSON.stringify(message)}`)
    setTimeout(() => this.run.receive(peer, parsed), 0)
  }

  #send(peer: string, loop: RankLoop, message: ToRank): void {
    const parsed = parseToRank(JSON.parse(JSON.stringify(message)))
    if (!parsed) throw new Error(`the coordinator sent what the door refuses: ${JSON.stringify(message)}`)
    setTimeout(() => {
      if (parsed.type === 'form') this.#connect(peer, loop, parsed.generation, parsed.members)
      loop.handle(parsed)
    }, 0)
  }

  #connect(peer: string, loop: RankLoop, generation: number, members: readonly Member[]): void {
    const mine = members.findIndex((member) => member.peer === peer)
    const neighbours = new Set([members[(mine + 1) % members.length]?.peer, members[(mine + members.length - 1) % members.length]?.peer])
    for (const other of neighbours) {
      if (!other || other === peer) continue
      const key = `${generation} ${[peer, other].sort().join(' ')}`
      const pair = this.#halves.get(key) ?? loopbackPair([peer, other])
      this.#halves.set(key, pair)
      loop.attachLink(generation, other, peer < other ? pair[0] : pair[1])
    }
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
    room.loops.get('b')?.close('its tab was closed')
    room.run.remove('b', 'closed its tab')
    await room.done
    expect(room.failure).toBeNull()
    expect(room.reports.map(({ update }) => update)).toEqual([0, 1, 2, 3])
    for (const [index, { lossSum }] of room.reports.entries()) expect(Math.abs(lossSum / (expected[index] ?? 1) - 1)).toBeLessThan(1e-5)
  })
})
