import type { StepRecord } from '../../protocol/step-record.ts'
import type { SessionPhase } from '../session-view.ts'

/** The tab's title: how far, how good. */
export function pageTitle(phase: SessionPhase, last: StepRecord | undefined, total: number): string {
  if (!last || total <= 0 || phase === 'setup') return 'Tabring'
  const share = Math.min(100, Math.floor((100 * last.step) / total))
  const state = phase === 'training' ? `${share} %` : phase
  return `${state} · loss ${last.loss.toFixed(2)} · Tabring`
}
