import { failureOf } from './rank-failure.ts'
import type { World } from './world.ts'

/** A script's default export. */
export type Script = (world: World) => Promise<void>

/**
 * Runs a script on one rank and waits until it has ended on all. What it throws ends the ring, so that every rank hears of it at once.
 * @throws RankFailure, with the rank where it began
 */
export async function runRank(world: World, script: Script): Promise<void> {
  const { group } = world
  try {
    await script(world)
    await group.meet()
  } catch (cause) {
    const failure = failureOf(group.rank, cause)
    group.ring.abort(failure.message)
    throw failure
  }
}
