import type { OpenedDevice } from '../engine/open-device.ts'
import { openDevice } from '../engine/open-device.ts'
import { Engine } from '../engine/engine.ts'
import type { FromRank, ToRank } from '../protocol/room-messages.ts'
import { runSelfTest } from '../train/self-test.ts'
import { channelLink } from '../transport/channel-link.ts'
import { portLink } from '../transport/port-link.ts'
import { RankLoop } from './rank-loop.ts'
import { createReplica } from './replica.ts'
import { type EmitToPage, exposeRankWorker, movedBlob, type NamedBlob } from './worker-bridge.ts'

/** The compute Worker of a rank: owns the GPU, the bulk channels and the loop. */
let loop: RankLoop | null = null
let emitToPage: EmitToPage = () => {}

function emit(message: FromRank, ...blobs: NamedBlob[]): void {
  emitToPage(message, ...blobs.map(movedBlob))
}

type Profile = 'auto' | 'lane' | 'shared'

async function openEngine(profile: Profile): Promise<{ readonly engine: Engine; readonly opened: OpenedDevice }> {
  const opened = await openDevice(navigator.gpu, { profile })
  void opened.device.lost.then(({ reason, message }) => {
    if (reason === 'destroyed') return
    emit({ type: 'failed', generation: null, update: null, cause: `The graphics device was lost: ${message || 'no reason given'}`, fatal: false })
    emit({ type: 'leaving' })
  })
  return { engine: new Engine(opened.device, { profile: opened.profile }), opened }
}

exposeRankWorker({
  async start(peer, profile, toPage) {
    emitToPage = toPage
    const { engine, opened } = await openEngine(profile)
    const selfTest = await runSelfTest(engine)
    engine.close()
    loop = new RankLoop({
      peer,
      emit,
      prepare: async (message: Extract<ToRank, { type: 'prepare' }>, files) => {
        const { engine: runEngine } = await openEngine(profile)
        return createReplica(runEngine, message, files, (phase, done, total) => emit({ type: 'progress', phase, done, total, unit: 'items' }))
      },
    })
    return { adapter: opened.facts, selfTest }
  },
  handle: (message) => loop?.handle(message),
  receiveBlob: (name, bytes) => loop?.receiveBlob(name, bytes),
  attach: (generation, { peer, name }, body) => loop?.attachLink(generation, peer, body instanceof MessagePort ? portLink(body, name) : channelLink(body, name)),
  close: (cause) => {
    loop?.close(cause)
    loop = null
    return Promise.resolve()
  },
})
