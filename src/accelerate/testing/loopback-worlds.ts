import { loopbackRings } from '../../collectives/testing/loopback-rings.ts'
import type { Engine } from '../../engine/engine.ts'
import { openTestEngine } from '../../engine/testing/test-engine.ts'
import { RankGroup } from '../rank-group.ts'
import { runRank } from '../run-rank.ts'
import type { World, WorldFiles } from '../world.ts'

/** Test-only: ranks in one process, each with its own engine on Dawn, over loopback links. */
export class LoopbackWorlds {
  readonly #engines: Engine[] = []
  /** What the ranks of all runs wrote. */
  readonly files = new MemoryFiles()
  /** Lines of the last run, with the rank that printed them. */
  printed: { readonly rank: number; readonly line: string }[] = []

  /** Every rank's result. Rejects with the first rank's failure. */
  async run<T>(worldSize: number, script: (world: World) => Promise<T>): Promise<T[]> {
    const settled = await this.settle(worldSize, script)
    return settled.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
  }

  async settle<T>(worldSize: number, script: (world: World) => Promise<T>): Promise<PromiseSettledResult<T>[]> {
    while (this.#engines.length < worldSize) this.#engines.push(await openTestEngine('lane'))
    this.printed = []
    using rings = loopbackRings(worldSize)
    const ranks = rings.rings.map(async (ring, rank) => {
      const engine = this.#engines[rank]
      if (!engine) throw new Error('no engine')
      const results: T[] = []
      const world = { engine, group: new RankGroup(ring), args: [], files: this.files, print: (line: string) => void this.printed.push({ rank, line }) }
      await runRank(world, async () => void results.push(await script(world)))
      const [result] = results
      return result as T
    })
    return await Promise.allSettled(ranks)
  }

  close(): void {
    for (const engine of this.#engines) engine.close()
  }
}

class MemoryFiles implements WorldFiles {
  readonly #files = new Map<string, Uint8Array<ArrayBuffer>>()

  async read(path: string): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = this.#files.get(path)
    if (!bytes) throw new Error(`Cannot read ${path}: there is no such file`)
    return bytes.slice()
  }

  async saveFolder(path: string, files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Promise<void> {
    for (const [name, bytes] of files) this.#files.set(`${path}/${name}`, bytes.slice())
  }

  async append(path: string, text: string): Promise<void> {
    const before = this.#files.get(path) ?? new Uint8Array()
    this.#files.set(path, new Uint8Array([...before, ...new TextEncoder().encode(text)]))
  }

  text(path: string): string {
    return new TextDecoder().decode(this.#files.get(path))
  }
}
