import type { TrackedValues } from '../protocol/tracker-records.ts'

/** The Trainer's rewrite_logs: `eval_loss` becomes `eval/loss`, `loss` becomes `train/loss`. */
export function rewriteLogs(values: TrackedValues): TrackedValues {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [rewritten(name), value]))
}

function rewritten(name: string): string {
  const [, part, rest] = /^(eval|test)_(.+)$/s.exec(name) ?? []
  return part === undefined ? `train/${name}` : `${part}/${rest}`
}
