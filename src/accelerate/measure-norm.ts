import { countVotes, gatherVotes } from '../train/vote.ts'
import type { ModelSeat } from './model-seat.ts'
import type { RankGroup } from './rank-group.ts'

/**
 * Global norm of the models' gradients as they will be used, NaN when one is not finite; rank 0's on all ranks, so that all clip by the
 * same bits. Each seat learns whether its own is finite.
 * @throws when ranks hold different gradients, and when they are not summed yet
 */
export async function measureNorm(group: RankGroup, seats: readonly ModelSeat[], step: number): Promise<number> {
  let sumSquares = 0
  for (const seat of seats) {
    seat.requireSummed('measure')
    const mine = await seat.norm.read()
    const vote = { items: 0, lossSum: 0, failure: null, ...mine }
    const votes = group.worldSize === 1 ? [vote] : await gatherVotes(group.ring, vote, { update: group.next(), collective: 0 })
    const verdict = countVotes(votes, step)
    seat.finite = verdict.finite && Number.isFinite(seat.factor)
    sumSquares += seat.finite ? verdict.sumSquares * seat.factor ** 2 : Number.NaN
  }
  return Math.sqrt(sumSquares)
}
