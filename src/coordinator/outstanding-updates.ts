import type { Member } from '../protocol/room-messages.ts'
import type { UpdatePlan, UpdateReport } from '../protocol/update-plan.ts'
import type { PlannedWindow } from './run-ports.ts'

interface Outstanding {
  readonly planned: Omit<PlannedWindow, 'ranks'>
  readonly microBatches: readonly number[]
  readonly reports: Map<string, UpdateReport>
}

/** An update that all its ranks, or all whose word is to be had, have reported alike. */
export interface FinishedUpdate extends PlannedWindow {
  readonly report: UpdateReport
}

/** Planned updates whose reports have not all come. */
export class OutstandingUpdates {
  readonly #open = new Map<number, Outstanding>()

  get size(): number {
    return this.#open.size
  }

  open(plan: UpdatePlan): void {
    const planned = { epoch: plan.epoch, samples: plan.microBatches.flat().reduce((sum, rows) => sum + rows.length, 0), tokens: plan.numTokens }
    this.#open.set(plan.update, { planned, microBatches: plan.microBatches.map((mine) => mine.length), reports: new Map() })
  }

  /** Micro-batches that `rank` was given; null for an update that is not outstanding. */
  microBatches(update: number, rank: number): number | null {
    const outstanding = this.#open.get(update)
    return outstanding ? (outstanding.microBatches[rank] ?? 0) : null
  }

  /**
   * Takes one rank's report. @returns the update once all `members` have reported it.
   * @throws a sentence when its result differs from another rank's (U6).
   */
  hear(member: Member, report: UpdateReport, members: readonly Member[]): FinishedUpdate | null {
    const outstanding = this.#open.get(report.update)
    if (!outstanding) return null
    const first = outstanding.reports.values().next().value
    outstanding.reports.set(member.peer, report)
    if (first && !sameResult(first, report)) {
      throw new Error(
        `Ranks disagree on update ${report.update + 1} (U6): ${member.name} has loss sum ${report.lossSum} and gradient norm ${report.gradNorm}, another has ${first.lossSum} and ${first.gradNorm}`,
      )
    }
    if (outstanding.reports.size < members.length) return null
    this.#open.delete(report.update)
    return { report: slowest(outstanding.reports), ...outstanding.planned, ranks: members.length }
  }

  /** Ends all: what is below `update` was committed by a rank whose state all now have; the rest is planned again. */
  settle(update: number): FinishedUpdate[] {
    const committed = [...this.#open].filter(([number, { reports }]) => number < update && reports.size > 0)
    this.#open.clear()
    return committed.map(([, { reports, planned }]) => ({ report: slowest(reports), ...planned, ranks: reports.size }))
  }
}

function sameResult(a: UpdateReport, b: UpdateReport): boolean {
  const { is } = Object // a skipped update has NaN on all ranks, and that is agreement
  return a.outcome === b.outcome && is(a.lossSum, b.lossSum) && is(a.gradNorm, b.gradNorm) && a.numItems === b.numItems && a.stateHash === b.stateHash
}

/** All reports agree on the result; the slowest one's times are the update's. */
function slowest(reports: ReadonlyMap<string, UpdateReport>): UpdateReport {
  return [...reports.values()].reduce((worst, report) => (report.times.totalMs > worst.times.totalMs ? report : worst))
}
