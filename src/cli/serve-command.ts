import { generate } from 'lean-qr'
import { startServer } from '../server/serve.ts'
import { webRoot } from './web-root.ts'

export interface ServeSettings {
  readonly port: number
  readonly host: boolean
}

/** Serves until Ctrl-C. */
export async function serve({ port, host }: ServeSettings): Promise<void> {
  const server = await startServer({ port, host: host ? '0.0.0.0' : '127.0.0.1', webRoot: webRoot() })
  const shown = server.lanUrls[0] ?? server.url
  process.stdout.write(`\n${terminalQr(shown)}\n\n  Tabring is at ${server.url}\n${server.lanUrls.map((url) => `               ${url}\n`).join('')}\n`)
  process.stdout.write('  Open it, press Start, and open the invitation link in more tabs to let them join.\n')
  process.stdout.write(
    host
      ? '  Other devices need an https address for WebGPU: put an https proxy in front of this port.\n'
      : '  Only this computer can open it. --host lets the network in; other devices also need https (see README).\n',
  )
  process.stdout.write('  Ctrl-C ends it.\n')
  await new Promise<void>((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  await server.close()
}

/** Two modules a character, dark on light whatever the terminal's colours. */
export function terminalQr(text: string): string {
  const code = generate(text)
  const margin = 2
  const lines: string[] = []
  for (let y = -margin; y < code.size + margin; y += 2) {
    let line = ''
    for (let x = -margin; x < code.size + margin; x++) line += HALVES[(code.get(x, y) ? 2 : 0) + (code.get(x, y + 1) ? 1 : 0)]
    lines.push(`  \x1b[30;107m${line}\x1b[0m`)
  }
  return lines.join('\n')
}

/** Upper and lower module: none, lower, upper, both dark. */
const HALVES = [' ', '▄', '▀', '█'] as const
