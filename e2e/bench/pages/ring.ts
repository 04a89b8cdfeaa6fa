// A tab of the ring: connects to its neighbours and hands the channels to its Worker, as the product's joining page does.
import * as Comlink from 'comlink'
import type { Member } from '../../../src/protocol/room-messages.ts'
import { NeighbourLinks } from '../../../src/rank/neighbour-links.ts'
import { broadcastCarrier } from '../../../src/transport/broadcast-carrier.ts'
import { roomCrypto } from '../../../src/transport/room-crypto.ts'
import { sealedSignalling } from '../../../src/transport/sealed-signalling.ts'
import type { RingWorker } from '../support/ring-worker.ts'

const ROOM = 'bench'
const CONNECT_DEADLINE_MS = 20_000

const worker = Comlink.wrap<RingWorker>(new Worker(new URL('../support/ring-worker.ts', import.meta.url), { type: 'module' }))
let links: NeighbourLinks | null = null
let self = ''

async function boot(peer: string): Promise<void> {
  self = peer
  const signalling = sealedSignalling(self, ROOM, await roomCrypto(ROOM, 'no secret'), broadcastCarrier(ROOM, self))
  links = new NeighbourLinks(signalling, self, CONNECT_DEADLINE_MS, {
    attach(generation, { peer: remote, name }, body) {
      if (body instanceof MessagePort) throw new Error('Cannot measure the channels: this browser does not hand them to a Worker')
      void worker.attach(generation, { peer: remote, name }, Comlink.transfer(body, [body as unknown as Transferable]))
    },
    failed: (_, cause) => console.error(cause),
  })
}

async function form(generation: number, peers: readonly string[]): Promise<void> {
  const members: Member[] = peers.map((peer) => ({ peer, name: peer }))
  links?.form(generation, members)
  await worker.form(generation, members, self)
}

Object.assign(globalThis, {
  bench: {
    boot,
    form,
    prepareReduce: (count: number) => worker.prepareReduce(count),
    reduce: (startAt: number) => worker.reduce(startAt),
    check: () => worker.check(),
    prepareExchange: (count: number) => worker.prepareExchange(count),
    exchange: (startAt: number) => worker.exchange(startAt),
  },
})
