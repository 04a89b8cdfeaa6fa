import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readTokenizerFiles } from '../checkpoint/hf-folder.ts'
import { floatTensor } from '../checkpoint/float-tensors.ts'
import { parseRunState } from '../checkpoint/run-state.ts'
import { type RawTensor, readSafetensors, writeSafetensors } from '../checkpoint/safetensors.ts'
import { readWeights } from '../checkpoint/weights.ts'
import { ActiveRun } from '../coordinator/active-run.ts'
import { EventLog } from '../coordinator/event-log.ts'
import { prepareRun } from '../coordinator/prepare-run.ts'
import { plainText } from '../data/build-corpus.ts'
import { Roster } from '../coordinator/roster.ts'
import type { StartFolder } from '../coordinator/start-folder.ts'
import { deferred } from '../base/deferred.ts'
import { parseOptions } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import type { StepRecord } from '../protocol/step-record.ts'
import { LoopbackRanks } from './testing/loopback-ranks.ts'

const TEXT = Array.from({ length: 400 }, (_, index) => `line ${(index * 37) % 91} of a small text, `).join('')
const OPTIONS = {
  preset: 'tiny',
  max_steps: 12,
  save_steps: 3,
  global_batch_size: 4,
  per_device_train_batch_size: 1,
  n_embd: 16,
  block_size: 16,
  sample_every: 0,
  logging_steps: 2,
  eval_steps: 6,
  max_eval_samples: 4,
  hash_every: 1,
  warmup_steps: 3,
}

type Folder = ReadonlyMap<string, Uint8Array>

interface Trained {
  readonly checkpoints: ReadonlyMap<string, Folder>
  readonly records: readonly StepRecord[]
  readonly lines: readonly unknown[]
  readonly warnings: readonly string[]
  readonly failure: string | null
}

let ranks: LoopbackRanks | null = null

/** The run as the coordinator page has it, with real ranks. `keep` may refuse to keep a checkpoint. */
async function train(
  peers: readonly string[],
  options: Record<string, unknown>,
  start: StartFolder | null = null,
  keep: (name: string) => Promise<void> = async () => {},
): Promise<Trained> {
  ranks?.close()
  const checkpoints = new Map<string, Folder>()
  const lines: unknown[] = []
  const warnings: string[] = []
  const over = deferred<string | null>()
  const prepared = await prepareRun(plainText(TEXT), parseOptions(options), peers.length, { start, keeps: true })
  const roster = new Roster(() => null)
  const run = new ActiveRun(
    prepared,
    { name: 'text', amount: TEXT.length, unit: 'characters' as const },
    {
      roster,
      events: new EventLog(({ level, text }) => void (level === 'warning' && warnings.push(text))),
      report: (event) => {
        if (event.type === 'log') lines.push(event.entry)
      },
      place: {
        keep: async ({ name }, files) => {
          await keep(name)
          checkpoints.set(name, new Map(files.map((file) => [file.name, file.bytes])))
        },
      },
    },
  )
  run.onPhase = (phase, status) => {
    if (phase === 'finished' || phase === 'failed') over.resolve(phase === 'failed' ? status : null)
  }
  ranks = new LoopbackRanks({ receive: (peer, message) => run.receive(peer, message), blob: (peer, name, bytes) => run.blob(peer, name, bytes) })
  for (const peer of peers) {
    roster.appear(peer, peer)
    roster.connect(ranks.add(peer))
  }
  run.begin(peers.flatMap((peer) => roster.get(peer) ?? []))
  return { failure: await over.promise, checkpoints, records: run.records.value, lines, warnings }
}

function json(folder: Folder | undefined, name: string): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(folder?.get(name)))
}

function startOf(folder: Folder | undefined): StartFolder {
  const bytes = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(folder?.get(name) ?? [])
  return {
    config: json(folder, 'config.json'),
    name: null,
    adapter: null,
    tokenizerFiles: readTokenizerFiles([...(folder ?? [])].map(([name, content]) => ({ name, bytes: content }))),
    model: bytes('model.safetensors'),
    resumed: { optimizer: bytes('optimizer.safetensors'), state: parseRunState(json(folder, 'training_state.json')) },
  }
}

/** Up to two devices in one process, each compiling its kernels. */
describe('a run that is resumed', { timeout: 240_000 }, () => {
  let straight: Trained
  let most = 0
  beforeAll(async () => {
    let under = 0
    straight = await train(['a', 'b'], resolveOptions(OPTIONS), null, async (name) => {
      most = Math.max(most, ++under)
      await new Promise((resolve) => setTimeout(resolve, 100))
      under--
      if (name === 'checkpoint-3') throw new Error('no space left')
    })
  }, 240_000)
  afterAll(() => ranks?.close())

  it('states are kept one at a time, and one that cannot be kept harms nothing', () => {
    expect(straight.failure).toBeNull()
    expect([...straight.checkpoints.keys()]).toEqual(['checkpoint-6', 'checkpoint-9', 'checkpoint-12'])
    expect(straight.warnings).toEqual(['Cannot keep checkpoint-3: no space left'])
    expect(most).toBe(1)
  })

  it('[U1] 9 updates and 3 after a checkpoint give the bits, the log and the figures of 12 in one run', async () => {
    const nine = straight.checkpoints.get('checkpoint-9')
    const resumed = await train(['a', 'b'], json(nine, 'training_args.json'), startOf(nine))
    expect([...resumed.checkpoints.keys()]).toEqual(['checkpoint-12'])
    const [theirs, ours] = [straight, resumed].map(({ checkpoints }) => checkpoints.get('checkpoint-12'))
    for (const name of ['model.safetensors', 'optimizer.safetensors', 'config.json', 'tokenizer.json', 'training_args.json'])
      expect(ours?.get(name), name).toEqual(theirs?.get(name))
    const results = ({ records }: Trained) => records.map(({ step, learning_rate, loss, state_hash }) => [step, learning_rate, loss, state_hash])
    expect(results(resumed)).toEqual(results(straight))
    expect(resumed.lines).toEqual(straight.lines.slice(4))
    const history = (folder: Folder | undefined) => withoutTimes(json(folder, 'trainer_state.json')['log_history'])
    expect(history(ours)).toEqual(history(theirs))
    const elapsed = resumed.records.map(({ elapsed_ms }) => elapsed_ms)
    expect(elapsed).toEqual(elapsed.toSorted((a, b) => a - b))
  })

  it('[U3] it goes on alike with another number of ranks', async () => {
    const nine = straight.checkpoints.get('checkpoint-9')
    const alone = await train(['a'], json(nine, 'training_args.json'), startOf(nine))
    expect(alone.records.length).toBe(12)
    for (const [index, { loss }] of alone.records.entries()) expect(Math.abs(loss / (straight.records[index]?.loss ?? 1) - 1)).toBeLessThan(1e-5)
  })

  it('another text, and a run that has nothing left to do, are refused before ranks are told', async () => {
    const last = straight.checkpoints.get('checkpoint-12')
    const options = parseOptions(json(last, 'training_args.json'))
    const start = startOf(last)
    await expect(prepareRun(plainText(TEXT.slice(0, 9_000)), options, 1, { start })).rejects.toThrow(
      /^Cannot resume: the data gives tokens with SHA-256 [0-9a-f]{64}, the checkpoint was trained on [0-9a-f]{64}, need the same data$/,
    )
    await expect(prepareRun(plainText(TEXT), options, 1, { start })).rejects.toThrow('the checkpoint has 12 updates done, need more in the run, which has 12')
    await expect(prepareRun(plainText('белый кит, '.repeat(2_000)), options, 1, { start: { ...start, resumed: null } })).rejects.toThrow(
      /^Cannot train on this text: \d+ of its \d+ characters are not in the model's tokenizer, need at most 1 in 10$/,
    )
  })

  it('a broken weight or moment is refused with its tensor and place, before the first update', async () => {
    const nine = straight.checkpoints.get('checkpoint-9')
    const options = json(nine, 'training_args.json')
    const start = startOf(nine)
    new DataView(start.model.buffer).setUint32(start.model.byteLength - 4, 0x7fc00000, true)
    const broken = await train(['a'], options, start)
    expect(broken.failure).toMatch(/^a failed: Cannot load tensor transformer\.[\w.]+: number \d+ of \d+ is NaN, need finite numbers$/)
    const { resumed, ...rest } = startOf(nine)
    const swapped = await train(['a'], options, { ...rest, resumed: resumed && { ...resumed, optimizer: rest.model } })
    expect(swapped.failure).toMatch(/^a failed: Cannot restore the optimizer: tensor transformer\.wte\.weight\.exp_avg is missing, need one of shape \[\d+, 16\]$/)
  })

  it('a model of 16-bit floats is taken as it is, and training starts from update 1', async () => {
    const start = asModel(straight.checkpoints.get('checkpoint-12'), (tensors) => new Map([...tensors].map(([name, tensor]) => [name, toBfloat16(tensor)])))
    const trained = await train(['a'], { ...json(straight.checkpoints.get('checkpoint-12'), 'training_args.json'), max_steps: 1, warmup_steps: 0, learning_rate: 0 }, start)
    expect(trained.failure).toBeNull()
    expect(trained.records.map(({ step }) => step)).toEqual([1])
    expect(readWeights(trained.checkpoints.get('checkpoint-1')?.get('model.safetensors') ?? new Uint8Array())).toEqual(readWeights(start.model))
  })

  it('a model that lacks a tensor, has one too many, or another shape is refused before the first update', async () => {
    const last = straight.checkpoints.get('checkpoint-12')
    const options = json(last, 'training_args.json')
    const name = 'transformer.ln_f.bias'
    const failure = async (change: (tensors: Map<string, RawTensor>) => void) =>
      (
        await train(
          ['a'],
          options,
          asModel(last, (tensors) => {
            change(tensors)
            return tensors
          }),
        )
      ).failure
    expect(await failure((tensors) => void tensors.delete(name))).toBe(`a failed: Cannot load the model: tensor ${name} is missing, need one of shape [16]`)
    expect(await failure((tensors) => void tensors.set('transformer.h.9.ln_1.bias', floatTensor(new Float32Array(16), [16])))).toBe(
      'a failed: Cannot load the model: it has no parameter for transformer.h.9.ln_1.bias (1 extra)',
    )
    expect(await failure((tensors) => void tensors.set(name, floatTensor(new Float32Array(17), [17])))).toBe(`a failed: Cannot load tensor ${name}: its shape is [17], need [16]`)
  })

  it('a tokenizer with more tokens than the model has rows is refused with both numbers', async () => {
    const last = straight.checkpoints.get('checkpoint-12')
    const options = parseOptions({ ...json(last, 'training_args.json'), tokenizer: 'byte' })
    const start = { ...asModel(last, (tensors) => tensors), tokenizerFiles: null }
    await expect(prepareRun(plainText(TEXT), options, 1, { start })).rejects.toThrow(
      /^Cannot use this tokenizer with the model: it has 256 tokens, need at most the \d+ of vocab_size$/,
    )
  })
})

/** The model of a checkpoint as a folder of its own. */
function asModel(folder: Folder | undefined, change: (tensors: Map<string, RawTensor>) => Map<string, RawTensor>): StartFolder {
  const start = startOf(folder)
  return { ...start, model: writeSafetensors(change(readSafetensors(start.model).tensors)), resumed: null }
}

function toBfloat16({ shape, data }: RawTensor): RawTensor {
  const halves = new Uint16Array(data.slice().buffer).filter((_, index) => index % 2 === 1)
  return { dtype: 'BF16', shape, data: new Uint8Array(halves.buffer) }
}

function withoutTimes(history: unknown): unknown {
  return Array.isArray(history) ? history.map((entry: Record<string, unknown>) => ({ ...entry, eval_runtime: 0 })) : history
}
