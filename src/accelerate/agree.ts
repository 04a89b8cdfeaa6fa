import type { Engine } from '../engine/engine.ts'
import { formatShape } from '../engine/tensor.ts'
import type { BoundModule } from './bind-module.ts'
import type { RankGroup } from './rank-group.ts'

/**
 * Checks that all ranks have the same parameters by name, shape, ties and requiresGrad, and gives them rank 0's values.
 * @throws the same on every rank
 */
export async function agreeOnModel(group: RankGroup, engine: Engine, bound: BoundModule): Promise<void> {
  if (group.worldSize === 1) return
  const { weights } = bound
  const listing = [...weights].map(([name, { shape, requiresGrad }]) => `${name} ${formatShape(shape)} ${requiresGrad}`).join('\n')
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${bound.name}\n${listing}`)))
  const numbers = [...weights.values()].reduce((sum, { size }) => sum + size, 0)
  const parts = await group.gather([weights.size, numbers, ...hash])
  const other = parts.findIndex((part) => part.some((value, index) => value !== parts[0]?.[index]))
  if (other >= 0) {
    const about = (rank: number) => `rank ${rank} has ${parts[rank]?.[0]} parameters of ${parts[rank]?.[1]} numbers`
    throw new Error(`Cannot prepare ${bound.name}: ${about(other)} and ${about(0)}, need the same model with the same names, shapes and requiresGrad`)
  }
  for (const part of [bound.trainable, bound.frozen]) {
    if (!part) continue
    const bytes = new Uint8Array(await engine.readBytes(part.values, part.elements * 4))
    await group.broadcast(bytes)
    engine.write(part.values, bytes)
  }
}
